// The list of past chats.

import { useEffect, useRef, useState } from 'preact/hooks';
import { path } from '../api';
import type { Controller } from '../controller';
import type { Chat } from '../frames';
import { t } from '../strings';
import { Button, day, Drawing } from './parts';

const patience = 250; // ms without another letter until a search
const undoing = 9500; // ms until the line to undo goes: the gateway restores a deleted chat for ten seconds

// Past is the list while it is open.
export class Past {
  list: Chat[] | null = null;
  query = '';
  undo: Chat | null = null; // what was deleted last
  error = '';
  #searching: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly controller: Controller) {
    this.search('');
  }

  search(query: string): void {
    this.query = query;
    this.controller.changed();
    clearTimeout(this.#searching);
    this.#searching = setTimeout(() => this.#load(query), query ? patience : 0);
  }

  async rename(chat: Chat, title: string): Promise<void> {
    if (title.trim() && title !== chat.title) await this.#manage(() => this.controller.gateway.request('PATCH', path(chat.id), { title: title.trim() }));
  }

  async remove(chat: Chat): Promise<void> {
    const shown = chat.id === this.controller.conversation.id;
    if (shown) this.controller.show(null); // before it is gone: requests for its messages would fail
    await this.#manage(() => this.controller.gateway.request('DELETE', path(chat.id)), chat);
    if (shown && this.error) this.controller.show(chat.id);
  }

  async restore(chat: Chat): Promise<void> {
    await this.#manage(() => this.controller.gateway.request('POST', `${path(chat.id)}/restore`, {}));
  }

  async #manage(change: () => Promise<unknown>, undo: Chat | null = null): Promise<void> {
    this.error = await change().then(() => '', (refusal: Error) => refusal.message);
    this.undo = this.error ? null : undo;
    await this.#load(this.query);
    if (undo) setTimeout(() => this.#forget(undo), undoing);
  }

  #forget(deleted: Chat): void {
    if (this.undo !== deleted) return;
    this.undo = null;
    this.controller.changed();
  }

  async #load(query: string): Promise<void> {
    const { gateway, signal } = this.controller;
    const search = query ? `?${new URLSearchParams({ q: query })}` : '';
    const list = await gateway.json<{ conversations: Chat[] }>('GET', `api/conversations${search}`, undefined, signal).then(({ conversations }) => conversations, (error: Error) => error);
    if (this.query !== query) return;
    if (Array.isArray(list)) this.list = list.filter(({ id, title }) => title || id === this.controller.conversation.id); // a deleted one has none
    else this.error = list.message;
    this.controller.changed();
  }
}

export function ChatList({ controller }: { controller: Controller }) {
  const { list, query, undo, error } = controller.chats!;
  const search = useRef<HTMLInputElement>(null);
  const refocus = () => search.current!.focus(); // before the focused button goes
  useEffect(refocus, []);
  const key = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    controller.closeList();
  };
  return (
    <section class="past" aria-label={t('Past chats')} onKeyDown={key}>
      <div class="search"><Drawing name="search" /><input type="search" ref={search} value={query} placeholder={t('Search your chats')} aria-label={t('Search your chats')} onInput={() => controller.chats!.search(search.current!.value)} /></div>
      {undo && <p class="undo" role="status">{t('Deleted.')} <button type="button" class="link" onClick={() => { refocus(); controller.chats!.restore(undo); }}>{t('Undo')}</button></p>}
      {error && <p class="undo" role="alert">{error}</p>}
      {list?.length === 0 && <p class="none">{query ? t('No chat has these words.') : t('Your chats will be here.')}</p>}
      <ul>{list?.map((chat) => <Row key={chat.id} controller={controller} chat={chat} refocus={refocus} />)}</ul>
    </section>
  );
}

function Row({ controller, chat, refocus }: { controller: Controller; chat: Chat; refocus: () => void }) {
  const [renaming, setRenaming] = useState<boolean | null>(null); // null before and after
  const pick = useRef<HTMLButtonElement>(null);
  useEffect(() => { if (renaming === false) pick.current!.focus(); }, [renaming]);
  const title = chat.title || t('New chat');
  const current = chat.id === controller.conversation.id;
  if (renaming) return <li><Rename title={title} done={(text, left) => { setRenaming((now) => (left && now ? null : false)); if (text) controller.chats?.rename(chat, text); }} /></li>;
  return (
    <li class={current ? 'current' : undefined}>
      <button type="button" class="pick" ref={pick} aria-current={current || undefined} onClick={() => (current ? controller.closeList() : controller.enter(chat.id))}>
        <span class="title" dir="auto">{title}</span><time>{day(new Date(chat.updatedAt).getTime())}</time>
      </button>
      <Button icon="edit" label={t('Rename {title}', { title })} onClick={() => setRenaming(true)} />
      <Button icon="trash" label={t('Delete {title}', { title })} onClick={() => { refocus(); controller.chats!.remove(chat); }} />
    </li>
  );
}

function Rename({ title, done }: { title: string; done: (text: string, left?: boolean) => void }) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current!.select(), []);
  const key = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' && event.key !== 'Escape') return;
    event.preventDefault();
    event.stopPropagation();
    done(event.key === 'Enter' ? input.current!.value : '');
  };
  return <input class="rename" ref={input} defaultValue={title} maxLength={120} aria-label={t('Title')} onKeyDown={key} onBlur={() => done(input.current?.value ?? '', true)} />;
}
