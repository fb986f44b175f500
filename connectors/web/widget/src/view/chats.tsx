// The list of past chats.

import { useEffect, useRef, useState } from 'preact/hooks';
import type { Controller } from '../controller';
import type { Chat } from '../frames';
import { t } from '../strings';
import { Button, day, Drawing } from './parts';

export function ChatList({ controller }: { controller: Controller }) {
  const { list, query, undo, error } = controller.chats!;
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => search.current!.focus(), []);
  const key = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    controller.closeList();
  };
  return (
    <section class="past" aria-label={t('Past chats')} onKeyDown={key}>
      <div class="search"><Drawing name="search" /><input type="search" ref={search} value={query} placeholder={t('Search your chats')} aria-label={t('Search your chats')} onInput={() => controller.list(search.current!.value)} /></div>
      {undo && <p class="undo" role="status">{t('Deleted.')} <button type="button" class="link" onClick={() => controller.undo(undo)}>{t('Undo')}</button></p>}
      {error && <p class="undo" role="alert">{error}</p>}
      {list?.length === 0 && <p class="none">{query ? t('No chat has these words.') : t('Your chats will be here.')}</p>}
      <ul>{list?.map((chat) => <Row key={chat.id} controller={controller} chat={chat} />)}</ul>
    </section>
  );
}

function Row({ controller, chat }: { controller: Controller; chat: Chat }) {
  const [renaming, setRenaming] = useState(false);
  const title = chat.title || t('New chat');
  const current = chat.id === controller.conversation.id;
  if (renaming) return <li><Rename title={title} done={(text) => { setRenaming(false); if (text) controller.rename(chat, text); }} /></li>;
  return (
    <li class={current ? 'current' : undefined}>
      <button type="button" class="pick" aria-current={current || undefined} onClick={() => (current ? controller.closeList() : controller.enter(chat.id))}>
        <span class="title" dir="auto">{title}</span><time>{day(new Date(chat.updatedAt).getTime())}</time>
      </button>
      <Button icon="edit" label={t('Rename {title}', { title })} onClick={() => setRenaming(true)} />
      <Button icon="trash" label={t('Delete {title}', { title })} onClick={() => controller.remove(chat)} />
    </li>
  );
}

function Rename({ title, done }: { title: string; done: (text: string) => void }) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current!.select(), []);
  const key = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' && event.key !== 'Escape') return;
    event.preventDefault();
    event.stopPropagation();
    done(event.key === 'Enter' ? input.current!.value : '');
  };
  return <input class="rename" ref={input} defaultValue={title} maxLength={120} aria-label={t('Title')} onKeyDown={key} onBlur={() => done(input.current?.value ?? '')} />;
}
