// <parley-chat agent="…" gateway="https://…/" closable>: a whole chat in one element. What it holds stands below its head.

import { Attachments } from './attachments.js';
import { Conversation, newKey } from './conversation.js';
import { button, el, followViewport } from './dom.js';
import { Answer, question } from './message.js';
import { Gateway } from './protocol.js';

const home = new URL('.', import.meta.url).href;
const wordless = 'Please describe the attached image.'; // what pictures alone ask, as the gateway has it
const near = 48; // pixels from the end that still count as being there

export class Chat extends HTMLElement {
  #agent;
  #conversation;
  #life; // aborted when the conversation leaves the page
  #ready = false; // the history is there
  #turns = new Set(); // answers that are being written
  #answers = new Map(); // by the id of their message
  #stuck = true; // the end is in sight, and stays so
  #countdown;
  #unfollow = () => {};
  #attached = new Attachments((text) => this.#tell(text), () => this.focus());
  #log;
  #empty;
  #scroller;
  #latest;
  #notice;
  #input;
  #stop;

  connectedCallback() {
    if (!this.shadowRoot) {
      const base = this.getAttribute('gateway') || home;
      this.#agent = this.getAttribute('agent') || 'Assistant';
      this.#conversation = new Conversation(new Gateway(base), base);
      this.#build();
    }
    this.#unfollow = followViewport(this);
    this.#restore();
  }

  disconnectedCallback() {
    this.#unfollow();
    this.#clear();
  }

  focus() {
    this.#input?.focus();
  }

  #build() {
    const chat = el('div', { class: 'chat', hidden: true }, this.#header(), el('slot'), this.#main(), this.#composer());
    const sheets = ['chat.css', 'pictures.css'];
    let missing = sheets.length;
    const show = () => {
      if (--missing > 0) return;
      chat.hidden = false;
      if (this.hasAttribute('autofocus')) this.focus();
    };
    this.#attached.listen(chat);
    const styles = sheets.map((name) => el('link', { rel: 'stylesheet', href: home + name, load: show, error: show }));
    this.attachShadow({ mode: 'open' }).append(...styles, chat);
    const follow = new ResizeObserver(() => this.#follow());
    follow.observe(this.#log);
    follow.observe(this.#scroller);
  }

  #header() {
    const close = () => this.dispatchEvent(new CustomEvent('parley-close', { bubbles: true }));
    return el('div', { class: 'head' },
      el('span', { class: 'avatar', 'aria-hidden': 'true' }, initial(this.#agent)),
      el('h1', {}, this.#agent),
      button('plus', 'New chat', () => this.#renew()),
      this.hasAttribute('closable') ? button('close', 'Close the chat', close) : '');
  }

  #main() {
    const suggestions = JSON.parse(this.getAttribute('suggestions') || '[]');
    const chips = suggestions.map((text) => el('button', { type: 'button', class: 'chip', click: () => this.#send(text) }, text));
    this.#empty = el('section', { class: 'empty', hidden: true },
      el('span', { class: 'avatar', 'aria-hidden': 'true' }, initial(this.#agent)),
      el('h2', {}, `Hello, I’m ${this.#agent}.`),
      el('p', {}, 'What can I do for you?'),
      el('div', { class: 'chips' }, ...chips));
    this.#log = el('div', { class: 'log', role: 'log', 'aria-live': 'polite', 'aria-label': `Conversation with ${this.#agent}` });
    this.#scroller = el('div', { class: 'scroller', scroll: () => this.#scrolled() }, this.#empty, this.#log);
    this.#latest = button('down', 'Go to the newest message', () => this.#toEnd(), { class: 'icon latest', hidden: true });
    return el('div', { class: 'middle' }, this.#scroller, this.#latest);
  }

  #composer() {
    this.#notice = el('p', { class: 'notice', role: 'status' });
    this.#input = el('textarea', {
      rows: '1', dir: 'auto', maxlength: '32000', placeholder: `Message ${this.#agent}`, 'aria-label': `Message ${this.#agent}`,
      enterkeyhint: 'send', keydown: (event) => this.#key(event), input: () => this.#fit(),
      paste: (event) => this.#attached.paste(event),
    });
    this.#stop = button('stop', 'Stop the answer', () => this.#halt(), { class: 'icon stop', hidden: true });
    const send = button('send', 'Send', null, { type: 'submit', class: 'icon send' });
    const submit = (event) => {
      event.preventDefault();
      this.#submit();
    };
    return el('form', { class: 'composer', submit }, this.#notice, this.#attached.element,
      el('div', { class: 'box' }, this.#attached.button, this.#input, this.#stop, send));
  }

  #key(event) {
    const composing = event.isComposing || event.keyCode === 229; // an input method uses Enter for itself
    if (event.key !== 'Enter' || event.shiftKey || composing) return;
    event.preventDefault();
    this.#submit();
  }

  async #submit() {
    const images = await this.#attached.take();
    const text = this.#input.value.trim() || (images.length > 0 ? wordless : '');
    if (!text || !this.#send(text, images)) return this.#attached.restore(images);
    this.#input.value = '';
    this.#fit();
  }

  #fit() {
    this.#input.style.height = 'auto';
    this.#input.style.height = `${this.#input.scrollHeight}px`;
  }

  // send shows a message and asks for its answer. It refuses while the history is not there yet.
  #send(text, images = []) {
    if (!this.#ready) return false;
    this.#tell('');
    const asked = question(text, images);
    this.#log.append(asked);
    this.#empty.hidden = true;
    this.#ask({ text, images }, newKey(), asked);
    this.#toEnd();
    this.focus();
    return true;
  }

  async #ask(message, key, asked) {
    const leaving = new AbortController();
    const answer = this.#answer(message);
    const turn = {
      signal: AbortSignal.any([leaving.signal, this.#life.signal]),
      frame: (frame) => this.#frame(turn, answer, frame),
      waiting: (tries) => {
        turn.cut = true;
        answer.say(reconnecting(tries));
      },
      end: () => {
        leaving.abort();
        answer.finish({ noResponseReason: 'stopped' });
      },
    };
    this.#turns.add(turn);
    this.#busy();
    answer.say('Thinking…');
    try {
      await this.#conversation.ask(turn, message, key);
    } catch (refusal) {
      answer.element.remove();
      this.#refused(refusal, message, asked);
    }
    this.#turns.delete(turn);
    this.#busy();
  }

  // answer is an empty one. message is what it answers, if that is known.
  #answer(message) {
    const answer = new Answer(this.#agent, () => message && this.#send(message.text, message.images));
    this.#log.append(answer.element);
    return answer;
  }

  #frame(turn, answer, frame) {
    turn.cut = false;
    try {
      answer.frame(frame);
    } catch (error) {
      reportError(error); // a mistake in drawing is no cut line
    }
    if (frame.type !== 'done') return;
    this.#offer(frame.choices, answer);
    this.#known(frame.messageId, answer);
    this.dispatchEvent(new CustomEvent('parley-answer', { bubbles: true }));
  }

  // offer shows what may be chosen, below the answer that asks. To choose is to write it.
  #offer(choices, answer) {
    if (!choices) return;
    const choose = (option) => {
      if (this.#send(option)) chips.remove();
    };
    const chips = el('div', { class: 'chips', role: 'group', 'aria-label': 'Choose' },
      ...choices.options.map((option) => el('button', { type: 'button', class: 'chip', click: () => choose(option) }, option)));
    answer.element.append(chips);
  }

  // known keeps one of two answers that are the same: messages that came together have one.
  #known(id, answer) {
    if (!id) return;
    this.#answers.get(id)?.element.remove();
    this.#answers.set(id, answer);
  }

  #refused(refusal, { text, images }, asked) {
    asked.remove();
    if (images) this.#attached.restore(images);
    this.#input.value = [text, this.#input.value].filter(Boolean).join('\n');
    this.#fit();
    if (refusal.status === 404) {
      this.#conversation.forget();
      this.#log.replaceChildren();
      this.#tell('This conversation is gone. Send again to start a new one.');
    } else if (refusal.status === 429 && refusal.wait) {
      this.#count(refusal.message, Date.now() + refusal.wait);
    } else this.#tell(refusal.message ?? String(refusal));
    this.#empty.hidden = this.#log.hasChildNodes();
  }

  // count shows how long to wait, until it is over.
  #count(sentence, until) {
    const tick = () => {
      const seconds = Math.ceil((until - Date.now()) / 1000);
      if (seconds <= 0) this.#tell('');
      else this.#notice.textContent = `${sentence} (${seconds} s)`;
    };
    this.#tell(' ');
    this.#countdown = setInterval(tick, 1000);
    tick();
  }

  #tell(text) {
    clearInterval(this.#countdown);
    this.#notice.textContent = text;
  }

  #halt() {
    for (const turn of this.#turns) if (turn.cut) turn.end(); // the gateway may not even know of it
    this.#conversation.stop().catch((error) => this.#tell(error.message));
    this.focus();
  }

  #busy() {
    this.#stop.hidden = this.#turns.size === 0;
  }

  // restore shows what was said before, and follows an answer that is still being written.
  async #restore() {
    const { signal } = this.#life = new AbortController();
    const messages = await this.#conversation.messages(signal, (tries) => this.#tell(reconnecting(tries)));
    if (signal.aborted) return;
    this.#tell('');
    this.#ready = true;
    let asked;
    for (const message of messages) {
      if (message.role !== 'user') this.#recall(message, asked?.message);
      else this.#log.append((asked = { message, node: question(message.text, message.files) }).node);
    }
    this.#empty.hidden = messages.length > 0;
    if (messages.at(-1)?.role === 'user') this.#ask({ text: asked.message.text }, asked.message.clientMessageId, asked.node);
    this.#toEnd();
  }

  #recall(message, asked) {
    const answer = this.#answer(asked);
    for (const { images = [], ...tool } of message.tools ?? []) {
      answer.frame(tool);
      this.#show(images, answer, tool);
    }
    answer.finish({ ...message, fullText: message.text });
    this.#offer(message.choices, answer);
    this.#known(message.id, answer);
  }

  // show gets the pictures of a call, which a live one had with it.
  async #show(addresses, answer, tool) {
    const { signal } = this.#life;
    const images = await Promise.all(addresses.map((address) => this.#conversation.picture(address, signal).catch(() => null)));
    if (images.length > 0 && !signal.aborted) answer.frame({ ...tool, images: images.filter(Boolean) });
  }

  #renew() {
    if (this.#turns.size > 0) this.#conversation.stop().catch(() => {}); // nobody will read on
    this.#clear();
    this.#conversation.forget();
    this.#restore();
    this.focus();
  }

  #clear() {
    this.#life.abort();
    this.#ready = false;
    this.#answers.clear();
    this.#log.replaceChildren();
    this.#tell('');
  }

  #scrolled() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    this.#stuck = scrollHeight - scrollTop - clientHeight < near;
    this.#latest.hidden = this.#stuck;
  }

  #follow() {
    if (this.#stuck) this.#scroller.scrollTop = this.#scroller.scrollHeight;
    else this.#scrolled();
  }

  #toEnd() {
    this.#stuck = true;
    this.#latest.hidden = true;
    this.#follow();
  }
}

const initial = (name) => [...name][0].toUpperCase();

const reconnecting = (tries) => (tries < 3 ? 'Reconnecting…' : 'The gateway can’t be reached. Trying again…');

customElements.define('parley-chat', Chat);
