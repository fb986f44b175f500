// The chat: it is loaded when a visitor opens it.

import { render } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Fragment, jsx, jsxs } from 'preact/jsx-runtime';
import { path, Refusal, unreachable } from './api';
import styles from './chat.css';
import { Controller } from './controller';
import { backOff, pause } from './conversation';
import { copy, el, harmless, newKey, stored } from './dom';
import { icon, rare } from './icons';
import { load, shared } from './load';
import { speak, type Strings, t } from './strings';
import { App, type Options } from './view/app';
import { loadMore } from './view/later';
import { Button, day, Drawing } from './view/parts';
import { loadMarkdown, Stretch } from './view/stretch';

// What the other files import, and no more: the rest can be left out or renamed.
Object.assign(shared, {
  api: { path, Refusal, unreachable }, conversation: { backOff, pause }, dom: { copy, el, harmless, newKey, stored }, icons: { icon, rare }, load: { load }, strings: { t },
  'view/parts': { Button, day, Drawing }, 'view/stretch': { Stretch }, 'preact/hooks': { useEffect, useRef, useLayoutEffect, useState }, 'preact/jsx-runtime': { Fragment, jsx, jsxs },
});

// mark shows the number of unread answers on the button of the chat, whose title it has while it is closed.
export interface Mounted { mark(launcher: HTMLElement, title: string): void; focus(): void; close(): void; send(text: string): void; destroy(): void }

// seen reports whether the chat is open; changed is called when the number of unread answers can have changed.
export interface Mount extends Options { base: string; place: string; locale: string; strings: Strings; seen: () => boolean; changed: () => void; answered: (text: string) => void; autofocus: boolean }

// mount draws the chat in a node of a shadow root.
export function mount(root: ShadowRoot, parent: HTMLElement, options: Mount): Mounted {
  speak(options.locale, options.strings);
  const dressed = new Set<string>();
  const dress = (css: string) => {
    if (dressed.has(css)) return;
    dressed.add(css);
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    root.adoptedStyleSheets.push(sheet);
  };
  dress(styles);
  const controller = new Controller(options.base, options.place, Boolean(options.page), options.verify);
  controller.dress = dress;
  let waiting: string[] = [];
  let unread = 0;
  const seen = () => {
    unread = 0;
    stored(() => localStorage.setItem(`${options.place}/seen`, `${Date.now()}`));
  };
  if (options.seen()) seen();
  controller.answered = (answer) => {
    if (options.seen()) seen();
    else unread++;
    options.changed();
    options.answered(answer?.text ?? '');
    if (options.seen() && !document.hidden) return;
    void loadMore().then(({ notify }) => notify(options.agent, answer, controller.last?.at));
  };
  controller.loaded = () => {
    for (const text of waiting) controller.send(text);
    waiting = [];
    const since = Number(stored(() => localStorage.getItem(`${options.place}/seen`)) ?? Infinity);
    if (!options.seen()) unread = controller.state.items.filter(({ kind, id, at }) => kind === 'answer' && id && at > since).length;
    options.changed();
  };
  render(<App controller={controller} options={options} />, parent);
  setTimeout(loadMarkdown, controller.conversation.id ? 0 : 1500); // most visitors ask
  if (options.autofocus) controller.focus();
  if (window.Notification?.permission === 'granted') void loadMore(); // other tabs ask whether this one is seen
  return {
    mark: (launcher, title) => {
      launcher.ariaLabel = options.seen() ? t('Close the chat') : unread ? t('{title}, {n} new', { title, n: unread }) : title;
      launcher.classList.toggle('unread', unread > 0);
      launcher.dataset.unread = unread > 9 ? '9+' : `${unread}`;
    },
    focus: () => {
      seen();
      controller.focus();
    },
    close: seen,
    send: (text) => { if (!controller.send(text)) waiting.push(text); },
    destroy: () => render(null, parent),
  };
}
