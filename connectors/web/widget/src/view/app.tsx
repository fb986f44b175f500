// The whole chat.

import { Fragment } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Controller } from '../controller';
import type { Answer } from '../state';
import { direction, t } from '../strings';
import { Composer } from './composer';
import { Later } from './later';
import { Answered, Asked } from './messages';
import { Announcer, Avatar, Button, day } from './parts';

const near = 48; // maximum distance in pixels that counts as scrolled to the end

export interface Options {
  agent: string; suggestions: string[]; accept: string; greeting?: string | undefined; avatar?: string | undefined; privacy?: string | undefined; verify?: string; page?: boolean; close?: (() => void) | undefined;
}

export function App({ controller, options }: { controller: Controller; options: Options }) {
  useChanges(controller);
  const chat = useRef<HTMLDivElement>(null);
  const [image, setImage] = useState<{ src: string; name: string } | null>(null);
  const view = useCallback((src: string, name: string) => setImage({ src, name }), []);
  useDrops(chat, controller);
  const { agent, close } = options;
  const { state, chats } = controller;
  const unable = useRef(false); // visitors can leave a message once the agent could not answer
  const last = state.items.at(-1);
  unable.current ||= Boolean(state.notice.until || (last?.kind === 'answer' && last.unable));
  const Frame = options.page ? 'main' : 'section';
  const current = state.items.findLast((item): item is Answer => item.kind === 'answer');
  return (
    <Frame class="chat" ref={chat} dir={direction()} aria-label={t('Chat with {agent}', { agent })} part="chat">
      <Head controller={controller} options={options} />
      {chats && <Later part="ChatList" controller={controller} />}
      <div class="middle" hidden={Boolean(chats)}><Log controller={controller} options={options} view={view} /></div>
      <div hidden={Boolean(chats)}>{unable.current && <Later part="Contact" controller={controller} />}<Composer controller={controller} agent={agent} accept={options.accept} busy={state.busy > 0} privacy={options.privacy} close={close} /></div>
      {current && <Announcer key={current.key} text={current.text} live={current.live && !current.offer} fresh={current.live || current.fresh} />}
      {image && <Later part="Viewer" controller={controller} {...image} close={() => setImage(null)} />}
    </Frame>
  );
}

// useChanges draws the chat again after changes: the text of answers at most once per frame.
function useChanges(controller: Controller): void {
  const [, draw] = useState(0);
  useLayoutEffect(() => {
    let waiting = 0;
    const now = () => {
      waiting = 0;
      draw((n) => n + 1);
    };
    controller.start((urgent) => {
      if (urgent || document.hidden) now();
      else waiting ||= requestAnimationFrame(now);
    });
    return () => {
      cancelAnimationFrame(waiting);
      controller.destroy();
    };
  }, []);
}

function Head({ controller, options: { agent, avatar, close } }: { controller: Controller; options: Options }) {
  const [open, setOpen] = useState(false);
  const menu = useRef<HTMLDivElement>(null);
  const { chats } = controller;
  const key = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !open) return;
    event.stopPropagation();
    setOpen(false);
    menu.current!.querySelector('button')!.focus();
  };
  return (
    <header class="head" part="header">
      {chats ? <Button icon="back" class="flip" label={t('Back to the chat')} onClick={() => controller.closeList()} /> : <Button icon="list" class="flip" label={t('Past chats')} onClick={() => controller.list()} />}
      <Avatar name={agent} src={avatar} />
      <h1>{chats ? t('Your chats') : agent}</h1>
      <Button icon="plus" label={t('New chat')} onClick={() => controller.enter(null)} />
      <div class="more" ref={menu} onKeyDown={key} onFocusOut={(event) => { if (!menu.current!.contains(event.relatedTarget as Node | null)) setOpen(false); }}>
        <Button icon="more" label={t('More')} expanded={open} onClick={() => setOpen(!open)} />
        {open && <Later part="Menu" controller={controller} agent={agent} close={() => setOpen(false)} />}
      </div>
      {close && <Button icon="close" label={t('Close the chat')} onClick={close} />}
    </header>
  );
}

function Log({ controller, options, view }: { controller: Controller; options: Options; view: (src: string, name: string) => void }) {
  const { items, ready, busy } = controller.state;
  const { agent, suggestions, greeting, avatar } = options;
  const scroller = useRef<HTMLDivElement>(null);
  const log = useRef<HTMLDivElement>(null);
  const last = controller.last?.key;
  const before = useRef(items);
  const asked = useRef(''); // the last new question
  if (!ready || (last && !before.current.some(({ key }) => key === last))) asked.current = last ?? '';
  before.current = items;
  const [stuck, toEnd] = useFollowing(scroller, log, asked.current);
  const shown = items.filter((item) => item.kind === 'question' || !item.hidden);
  const lastAnswer = shown.at(-1);
  return (
    <>
      <div class="scroller" ref={scroller} tabIndex={shown.length > 0 ? 0 : undefined}>
        <section class="empty" hidden={!ready || items.length > 0}>
          <Avatar name={agent} src={avatar} />
          <h2>{greeting || t('Hello, I’m {agent}.', { agent })}</h2>
          <p>{t('What can I do for you?')}</p>
          <div class="chips">{suggestions.map((text) => <button key={text} type="button" class="chip" dir="auto" onClick={() => controller.send(text)}>{text}</button>)}</div>
        </section>
        {items.length > 0 && <h2 class="unseen">{t('Conversation with {agent}', { agent })}</h2>}
        <div class="log" role="log" aria-live="off" aria-label={t('Conversation with {agent}', { agent })} ref={log}>
          {shown.map((item, i) => {
            const before = shown[i - 1];
            const fresh = item.kind === 'question' && item.at > 0 && day(item.at) !== day(before?.at || item.at);
            return (
              <Fragment key={item.key}>
                {fresh && <p class="day">{day(item.at)}</p>}
                {item.kind === 'question'
                  ? <Asked controller={controller} question={item} last={item.key === last} busy={item.key === last && busy > 0} view={view} />
                  : <Answered controller={controller} answer={item} agent={agent} last={item === lastAnswer} busy={item === lastAnswer && busy > 0} view={view} />}
              </Fragment>
            );
          })}
        </div>
      </div>
      <Button icon="down" class="latest" label={t('Go to the newest message')} hidden={stuck} onClick={toEnd} />
    </>
  );
}

// useFollowing keeps the end of the log in sight while the reader is there. It goes to the end when key changes.
function useFollowing(scroller: { current: HTMLDivElement | null }, log: { current: HTMLDivElement | null }, key: string): [boolean, () => void] {
  const [stuck, setStuck] = useState(true);
  const at = useRef({ stuck: true, top: 0 });
  const stick = (now: boolean) => {
    at.current.stuck = now;
    setStuck(now);
  };
  const scrolled = () => {
    const { scrollHeight, scrollTop, clientHeight } = scroller.current!;
    if (scrollHeight - scrollTop - clientHeight < near) stick(true);
    else if (scrollTop < at.current.top) stick(false); // content that only grows is followed
    at.current.top = scrollTop;
  };
  const follow = () => {
    if (!scroller.current) return; // the page has removed the chat
    if (at.current.stuck) scroller.current.scrollTop = scroller.current.scrollHeight;
    else scrolled();
  };
  const toEnd = () => {
    stick(true);
    follow();
  };
  useEffect(() => {
    const sizes = new ResizeObserver(follow);
    sizes.observe(log.current!);
    sizes.observe(scroller.current!);
    scroller.current!.addEventListener('scroll', scrolled, { passive: true });
    return () => sizes.disconnect();
  }, []);
  useLayoutEffect(toEnd, [key]);
  return [stuck, toEnd];
}

// useDrops accepts files that are dropped on the chat.
function useDrops(chat: { current: HTMLElement | null }, controller: Controller): void {
  useEffect(() => {
    const node = chat.current!;
    const over = (on: boolean) => (event: DragEvent) => {
      if (![...event.dataTransfer!.types].includes('Files')) return;
      event.preventDefault();
      node.classList.toggle('dropping', on);
    };
    node.addEventListener('dragover', over(true));
    node.addEventListener('dragleave', over(false));
    node.addEventListener('drop', (event) => {
      over(false)(event);
      controller.attach(event.dataTransfer!.files);
    });
  }, []);
}
