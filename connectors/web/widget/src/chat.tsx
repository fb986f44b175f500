// The chat: it is loaded when a visitor opens it.

import { render } from 'preact';
import styles from './chat.css';
import { Controller } from './controller';
import { blink, audible, chime } from './sound';
import { speak, type Strings } from './strings';
import { App, type Options } from './view/app';
import { loadMarkdown } from './view/messages';

export interface Mounted { focus(): void; send(text: string): void; destroy(): void }

export interface Mount extends Options { base: string; place: string; locale: string; strings: Strings; seen: () => boolean; answered: (text: string) => void; loaded: (answers: number[]) => void; autofocus: boolean }

// mount draws the chat in a node of a shadow root.
export function mount(root: ShadowRoot, parent: HTMLElement, options: Mount): Mounted {
  speak(options.locale, options.strings);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(styles);
  root.adoptedStyleSheets.push(sheet);
  const controller = new Controller(options.base, options.place, Boolean(options.page));
  let waiting: string[] = [];
  controller.answered = (answer) => {
    options.answered(answer?.text ?? '');
    if (options.seen() && !document.hidden) return;
    if (audible()) chime();
    blink(options.agent);
  };
  controller.loaded = () => {
    for (const text of waiting) controller.send(text);
    waiting = [];
    options.loaded(controller.state.items.flatMap(({ kind, at }) => (kind === 'answer' ? [at] : [])));
  };
  render(<App controller={controller} options={options} />, parent);
  setTimeout(loadMarkdown, controller.conversation.id ? 0 : 1500); // most visitors ask
  if (options.autofocus) controller.focus();
  return {
    focus: () => controller.focus(),
    send: (text) => { if (!controller.send(text)) waiting.push(text); },
    destroy: () => render(null, parent),
  };
}
