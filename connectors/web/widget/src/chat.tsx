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

export interface Mounted { focus(): void; send(text: string): void; destroy(): void }

export interface Mount extends Options { base: string; place: string; locale: string; strings: Strings; seen: () => boolean; answered: (text: string) => void; loaded: (answers: number[]) => void; autofocus: boolean }

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
  controller.answered = (answer) => {
    options.answered(answer?.text ?? '');
    if (options.seen() && !document.hidden) return;
    void loadMore().then(({ notify }) => notify(options.agent, answer, controller.last?.at));
  };
  controller.loaded = () => {
    for (const text of waiting) controller.send(text);
    waiting = [];
    options.loaded(controller.state.items.flatMap(({ kind, at }) => (kind === 'answer' ? [at] : [])));
  };
  render(<App controller={controller} options={options} />, parent);
  setTimeout(loadMarkdown, controller.conversation.id ? 0 : 1500); // most visitors ask
  if (options.autofocus) controller.focus();
  if (window.Notification?.permission === 'granted') void loadMore(); // other tabs ask whether this one is seen
  return {
    focus: () => controller.focus(),
    send: (text) => { if (!controller.send(text)) waiting.push(text); },
    destroy: () => render(null, parent),
  };
}
