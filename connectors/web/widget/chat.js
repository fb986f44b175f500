// <parley-chat agent="…" gateway="https://…/" closable>: a whole chat in one element. page marks the gateway's own page, which
// uses the owner's login.

import { Attachments } from './attachments.js';
import { chips, named } from './choices.js';
import { Conversation, newKey } from './conversation.js';
import { button, el, followViewport } from './dom.js';
import { release } from './files.js';
import { Answer, question, tellUnread } from './message.js';
import { Gateway } from './protocol.js';

const home = new URL('.', import.meta.url).href;
// The questions of messages with only pictures, and with other files; the same as the gateway's.
const wordless = 'Please describe the attached image.';
const wordlessFiles = 'Please read the attached files.';
const near = 48; // maximum distance in pixels that counts as scrolled to the end

export class Chat extends HTMLElement {
  #agent;
  #gateway;
  #conversation;
  #place; // the storage key of the conversation's id
  #life; // aborted when the element is removed
  #ready = false; // the history is loaded
  #turns = new Set(); // answers in progress, in order
  #answers = new Map(); // by the id of their message
  #stuck = true; // scrolled to the end, and following it
  #top = 0; // last scroll position
  #countdown;
  #unfollow = () => {};
  #shelf = {
    at: (address) => this.#conversation.direct && this.#conversation.at(address),
    file: (address) => this.#conversation.file(address),
    tell: (text) => this.#tell(text),
  };
  #attached = new Attachments((text) => this.#tell(text), () => this.focus(), {
    upload: (...file) => this.#conversation.upload(...file),
    drop: (key) => this.#conversation.drop(key),
  });
  #taking = false; // a message waits for its files
  #log;
  #empty;
  #scroller;
  #latest;
  #notice;
  #input;
  #stop;

  connectedCallback() {
    const base = this.getAttribute('gateway') || home;
    this.#place = takePlace(`parley:${base}`);
    this.#gateway = new Gateway(base, this.hasAttribute('page') && window.top === window); // never in a frame
    this.#conversation = new Conversation(this.#gateway, this.#place);
    if (!this.shadowRoot) {
      this.#agent = this.getAttribute('agent') || 'Assistant';
      this.#build();
    }
    this.#unfollow = followViewport(this);
    window.addEventListener('parley-identify', this.#identified);
    this.#enter(this.#gateway.signedOut());
  }

  disconnectedCallback() {
    window.removeEventListener('parley-identify', this.#identified);
    this.#unfollow();
    this.#clear();
    places.delete(this.#place);
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
    this.#attached.offer(this.getAttribute('accept') || '');
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
    const offers = suggestions.map((text) => el('button', { type: 'button', class: 'chip', click: () => this.#send(text) }, text));
    this.#empty = el('section', { class: 'empty', hidden: true },
      el('span', { class: 'avatar', 'aria-hidden': 'true' }, initial(this.#agent)),
      el('h2', {}, `Hello, I’m ${this.#agent}.`),
      el('p', {}, 'What can I do for you?'),
      el('div', { class: 'chips' }, ...offers));
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
    const composing = event.isComposing || event.keyCode === 229; // an input method uses Enter to accept its text
    if (event.key !== 'Enter' || event.shiftKey || composing) return;
    event.preventDefault();
    this.#submit();
  }

  async #submit() {
    if (this.#taking) return;
    this.#taking = true;
    const taken = await this.#attached.take();
    this.#taking = false;
    if (!taken) return;
    const [files, refused] = taken;
    const text = this.#input.value.trim() || silent(files);
    if (!text || !this.#send(text, files)) return this.#attached.restore([...files, ...refused]);
    if (refused.length > 0) this.#tell(`Sent without ${refused.map(({ name }) => name).join(', ')}.`);
    this.#input.value = '';
    this.#fit();
  }

  #fit() {
    this.#input.style.height = 'auto';
    this.#input.style.height = `${this.#input.scrollHeight}px`;
  }

  // send shows a message and requests its answer. It does nothing until the history is loaded.
  #send(text, files = []) {
    if (!this.#ready) return false;
    this.#tell('');
    if (files.length === 0 && this.#chosen(text)) return true;
    const asked = this.#question(text, files.map(({ name, preview, stored }) => ({ ...stored, name, preview })));
    this.#log.append(asked);
    this.#empty.hidden = true;
    const message = files.length > 0 ? { text, files: files.map(({ key }) => key), attached: files } : { text };
    this.#ask(message, newKey(), asked);
    this.#toEnd();
    this.focus();
    return true;
  }

  // asker is the turn that the message answers by a choice, if any: then an answer is shown only if the choice produces one.
  // rejoins means that the gateway already has the message: only its answer is requested again.
  async #ask(message, key, asked, { asker, rejoins } = {}) {
    const leaving = new AbortController();
    const answer = this.#answer(message);
    if (!asker) this.#log.append(answer.element);
    const turn = {
      answer,
      asker,
      rejoins,
      signal: AbortSignal.any([leaving.signal, this.#life.signal]),
      frame: (frame) => this.#frame(turn, frame),
      waiting: (tries) => {
        turn.cut = true;
        answer.say(reconnecting(tries));
      },
      lost: () => answer.element.remove(),
      end: () => {
        leaving.abort();
        answer.finish({ noResponseReason: 'stopped' });
      },
    };
    this.#turns.add(turn);
    this.#busy();
    answer.say('Thinking…');
    try {
      await this.#conversation.ask(turn, { ...message, name: window.parley?.name }, key);
      this.#learnUnread(key, asked);
    } catch (refusal) {
      answer.element.remove();
      if (asker?.answer.chips) asker.answer.chips.disabled = false;
      if (rejoins && refusal.status !== 404) this.#tell(refusal.message); // the message was sent, so the question stays
      else this.#refused(refusal, message, asked);
    }
    this.#turns.delete(turn);
    for (const other of this.#turns) if (other.asker === turn) this.#log.append(other.answer.element);
    this.#busy();
  }

  // learnUnread shows which files of an answered question could not be read. Where that fails, a reload shows it.
  async #learnUnread(key, asked) {
    if (!asked.querySelector('.files') || this.#life.signal.aborted) return;
    const messages = await this.#conversation.messages(this.#life.signal, () => {}).catch(() => []);
    tellUnread(asked, messages.find(({ clientMessageId }) => clientMessageId === key)?.files ?? []);
  }

  // answer returns an empty answer. message is the id of its question, if known.
  #answer(message) {
    return new Answer(this.#agent, () => message && this.#send(message.text), this.#shelf);
  }

  #frame(turn, frame) {
    const { answer, asker } = turn;
    turn.cut = false;
    if (asker && !answer.element.parentNode && saysMore(frame)) this.#log.append(answer.element);
    try {
      if (frame.kind === 'choices' || frame.kind === 'thinking') this.#ongoing(turn, frame.choices); // each stream starts with thinking
      const stored = frame.type === 'tool' && (frame.images ?? []).some((address) => !address.startsWith('data:'));
      if (stored) this.#tool(frame, answer);
      else if (frame.kind !== 'choices') answer.frame(frame);
    } catch (error) {
      reportError(error); // an error in rendering is not a lost connection
    }
    if (frame.type !== 'done') return;
    this.#offer(frame.choices, answer);
    this.#known(frame.messageId, answer);
    this.dispatchEvent(new CustomEvent('parley-answer', { bubbles: true }));
  }

  // offer shows the options below the answer that asks. Pressing one sends its text.
  #offer(choices, answer) {
    const choose = (option) => {
      if (this.#send(choices.options[option])) answer.offer(null);
    };
    answer.offer(choices ? chips(choices.options, choose) : null);
  }

  // ongoing shows the options of an answer in progress, or removes them.
  #ongoing(turn, choices) {
    turn.choices = choices;
    turn.answer.offer(choices ? chips(choices.options, (option) => this.#choose(turn, option, { id: choices.id, option })) : null);
  }

  // chosen reports whether a text selects an option of an answer in progress.
  #chosen(text) {
    for (const turn of [...this.#turns].reverse()) {
      const option = turn.answer.chips && turn.choices ? named(turn.choices.options, text) : -1;
      if (option >= 0) return this.#choose(turn, option);
    }
    return false;
  }

  // choose answers a question of an answer in progress: the user's message is shown above the answer, like after a reload. choice is
  // the pressed option; without it, the user has typed the option.
  #choose(turn, option, choice) {
    const text = turn.choices.options[option];
    const asked = question(text);
    turn.answer.element.before(asked);
    turn.answer.chips.disabled = true; // until the result is known
    this.#tell('');
    this.#ask({ text, choice }, newKey(), asked, { asker: turn });
    this.#toEnd();
    this.focus();
    return true;
  }

  // known removes a duplicate answer: messages sent in quick succession share one.
  #known(id, answer) {
    if (!id) return;
    this.#answers.get(id)?.element.remove();
    this.#answers.set(id, answer);
  }

  #refused(refusal, { text, attached, choice }, asked) {
    asked.remove();
    if (attached && refusal.status !== 404) this.#attached.restore(attached);
    if (!choice) this.#input.value = [text, this.#input.value].filter(Boolean).join('\n');
    this.#fit();
    if (refusal.status === 404) {
      this.#conversation.forget();
      this.#attached.again(attached);
      this.#log.replaceChildren();
      this.#tell('This conversation is gone. Send again to start a new one.');
    } else if (refusal.status === 429 && refusal.wait) {
      this.#count(refusal.message, Date.now() + refusal.wait);
    } else this.#tell(refusal.message ?? String(refusal));
    this.#empty.hidden = this.#log.hasChildNodes();
  }

  // count shows a countdown until the user can try again.
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
    for (const turn of this.#turns) if (turn.cut) turn.end(); // the gateway may not have received it
    this.#conversation.stop().catch((error) => this.#tell(error.message));
    this.focus();
  }

  #busy() {
    this.#stop.hidden = this.#turns.size === 0;
  }

  #identified = ({ detail }) => {
    this.#clear();
    this.#enter(this.#gateway.signedOut() || detail);
  };

  // enter shows the conversation of who uses the browser now. After a sign-in, the conversations of before are offered to the account;
  // after a sign-out, and if the account does not want them, it is a new one.
  async #enter(out) {
    const { signal } = this.#life = new AbortController();
    const offered = await this.#gateway.offered();
    if (signal.aborted) return;
    const keeps = offered.length > 0 && window.confirm('Keep your earlier conversations in your account?');
    if (keeps) await this.#gateway.adopt(offered).catch((error) => this.#tell(error.message));
    if (out || (offered.length > 0 && !keeps)) this.#conversation.forget();
    if (!signal.aborted) this.#restore();
  }

  // restore shows the history, and follows an answer in progress.
  async #restore() {
    const { signal } = this.#life = new AbortController();
    let messages;
    try {
      messages = await this.#conversation.messages(signal, (tries) => this.#tell(reconnecting(tries)));
    } catch (refusal) {
      if (!signal.aborted) this.#tell(refusal.message);
      return;
    }
    if (signal.aborted) return;
    this.#tell('');
    this.#ready = true;
    messages = messages.filter(({ waiting }) => !waiting); // the stream shows them
    let asked;
    for (const message of messages) {
      if (message.role === 'user') asked = this.#said(message) ?? asked;
      else asked = { ...asked, answered: this.#recall(message, asked?.message) };
    }
    this.#empty.hidden = messages.length > 0;
    if (asked && !asked.answered) this.#ask({ text: asked.message.text }, asked.message.clientMessageId, asked.node, { rejoins: true });
    this.#toEnd();
  }

  // said shows a user's message, and returns it unless it is a choice for an answer in progress, or its answer can't be requested.
  #said(message) {
    const node = this.#question(message.text, message.files);
    this.#log.append(node);
    const { clientMessageId, replyToMessageId } = message;
    return clientMessageId && (!replyToMessageId || this.#answers.has(replyToMessageId)) ? { message, node } : null;
  }

  #recall(message, asked) {
    const answer = this.#answer(asked);
    this.#log.append(answer.element);
    for (const tool of message.tools ?? []) this.#tool(tool, answer);
    answer.finish({ ...message, fullText: message.text });
    this.#offer(message.choices, answer);
    this.#known(message.id, answer);
    return answer;
  }

  // question shows a user's message, and loads the thumbnails of its files.
  #question(text, files) {
    return question(text, files, (address) => this.#conversation.picture(address, this.#life.signal));
  }

  // tool shows a call whose images are at URLs.
  #tool({ images = [], ...tool }, answer) {
    answer.frame(tool);
    this.#show(images, answer, tool);
  }

  // show loads the images of a call, which a live call includes in its frames.
  async #show(addresses, answer, tool) {
    const { signal } = this.#life;
    const images = await Promise.all(addresses.map((address) => this.#conversation.picture(address, signal).catch(() => null)));
    if (images.length > 0 && !signal.aborted) answer.frame({ ...tool, images: images.filter(Boolean) });
  }

  #renew() {
    if (this.#turns.size > 0) this.#conversation.stop().catch(() => {}); // the reader has left
    this.#clear();
    this.#conversation.forget();
    this.#attached.again();
    this.#restore();
    this.focus();
  }

  #clear() {
    this.#life.abort();
    this.#ready = false;
    this.#answers.clear();
    release(this.#log);
    this.#log.replaceChildren();
    this.#tell('');
  }

  #scrolled() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    if (scrollHeight - scrollTop - clientHeight < near) this.#stuck = true;
    else if (scrollTop < this.#top) this.#stuck = false; // content that only grows is followed
    this.#top = scrollTop;
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

// silent is the question of a message with only files.
function silent(files) {
  if (files.length === 0) return '';
  return files.every(({ preview }) => preview) ? wordless : wordlessFiles;
}

const places = new Set(); // of the chats on this page

// takePlace returns a storage key that no other chat on this page uses, so that each has its own conversation, also after a reload.
function takePlace(first) {
  let place = first;
  for (let n = 2; places.has(place); n++) place = `${first}#${n}`;
  places.add(place);
  return place;
}

// saysMore reports whether a frame belongs to a new answer, and not to a choice whose answer is already in progress.
const saysMore = ({ type, kind, fullText, noResponseReason }) => ['token', 'tool'].includes(type) || kind === 'running_action' ||
  (type === 'done' && Boolean(fullText || noResponseReason !== 'ignored'));

const initial = (name) => [...name][0].toUpperCase();

const reconnecting = (tries) => (tries < 3 ? 'Reconnecting…' : 'The gateway can’t be reached. Trying again…');

customElements.define('parley-chat', Chat);
