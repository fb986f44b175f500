// <parley-bubble>: a button in the corner of a page that opens a chat. It hands its attributes to the <parley-chat>.

import './chat.js';
import { button, el, icon } from './dom.js';

const home = new URL('.', import.meta.url).href;

class Bubble extends HTMLElement {
  #launcher;
  #panel;
  #chat;

  connectedCallback() {
    if (!this.shadowRoot) this.#build();
  }

  // show opens the chat and focuses it.
  show() {
    this.#panel.hidden = false;
    this.#chat ??= this.#panel.appendChild(this.#make()); // no request is made before the chat is opened
    this.#mark();
    this.#chat.focus();
  }

  hide() {
    this.#panel.hidden = true;
    this.#mark();
    this.#launcher.focus();
  }

  toggle() {
    if (this.#panel.hidden) this.show();
    else this.hide();
  }

  #build() {
    this.#panel = el('div', {
      class: 'panel', role: 'dialog', 'aria-label': this.#title(), hidden: true,
      'parley-close': () => this.hide(), 'parley-answer': () => this.#answered(), keydown: (event) => this.#key(event),
    });
    this.#launcher = button('chat', '', () => this.toggle(), { class: 'launcher' });
    const frame = el('div', { class: 'bubble', hidden: true }, this.#panel, this.#launcher);
    const show = () => { frame.hidden = false; };
    const style = el('link', { rel: 'stylesheet', href: `${home}bubble.css`, load: show, error: show });
    this.attachShadow({ mode: 'open' }).append(style, frame);
    this.#mark();
  }

  #make() {
    const attributes = Object.fromEntries(Array.from(this.attributes, ({ name, value }) => [name, value]));
    delete attributes.style;
    return el('parley-chat', { ...attributes, closable: true, autofocus: true });
  }

  #title() {
    return `Chat with ${this.getAttribute('agent') || 'the assistant'}`;
  }

  #key(event) {
    if (event.key !== 'Escape' || event.isComposing) return;
    event.stopPropagation();
    this.hide();
  }

  #answered() {
    if (!this.#panel.hidden) return;
    this.#launcher.classList.add('unread');
    this.#launcher.setAttribute('aria-label', `${this.#title()}, new answer`);
  }

  #mark() {
    const open = !this.#panel.hidden;
    this.#launcher.classList.remove('unread');
    this.#launcher.setAttribute('aria-expanded', String(open));
    this.#launcher.setAttribute('aria-label', open ? 'Close the chat' : this.#title());
    this.#launcher.title = '';
    this.#launcher.replaceChildren(icon(open ? 'close' : 'chat'));
  }
}

customElements.define('parley-bubble', Bubble);
