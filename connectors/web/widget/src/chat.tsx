// The chat: it is loaded when a visitor opens it.

import { render } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Fragment, jsx, jsxs } from 'preact/jsx-runtime';
import * as api from './api';
import styles from './chat.css';
import { Controller } from './controller';
import { backOff, pause } from './conversation';
import * as dom from './dom';
import * as icons from './icons';
import { load, shared } from './load';
import * as strings from './strings';
import type { Strings } from './strings';
import { App, type Options } from './view/app';
import { loadMore } from './view/later';
import * as parts from './view/parts';
import * as stretch from './view/stretch';

Object.assign(shared, { api, conversation: { backOff, pause }, dom, icons, load: { load }, strings, 'view/parts': parts, 'view/stretch': stretch, 'preact/hooks': { useEffect, useLayoutEffect, useRef, useState }, 'preact/jsx-runtime': { Fragment, jsx, jsxs } });

export interface Mounted { focus(): void; send(text: string): void; destroy(): void }

export interface Mount extends Options { base: string; place: string; locale: string; strings: Strings; seen: () => boolean; answered: (text: string) => void; loaded: (answers: number[]) => void; autofocus: boolean }

// mount draws the chat in a node of a shadow root.
export function mount(root: ShadowRoot, parent: HTMLElement, options: Mount): Mounted {
  strings.speak(options.locale, options.strings);
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
    void loadMore().then(({ notify }) => notify(options.agent));
  };
  controller.loaded = () => {
    for (const text of waiting) controller.send(text);
    waiting = [];
    options.loaded(controller.state.items.flatMap(({ kind, at }) => (kind === 'answer' ? [at] : [])));
  };
  render(<App controller={controller} options={options} />, parent);
  setTimeout(stretch.loadMarkdown, controller.conversation.id ? 0 : 1500); // most visitors ask
  if (options.autofocus) controller.focus();
  return {
    focus: () => controller.focus(),
    send: (text) => { if (!controller.send(text)) waiting.push(text); },
    destroy: () => render(null, parent),
  };
}
