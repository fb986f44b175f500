// Puts the chat on any page:
//
//   <script src="https://gateway.example/widget.js" data-agent="Parley"></script>
//
// docs/embed.md lists the attributes. It is one small file; the chat itself is loaded when a visitor opens it.

import type { Mounted, Mount } from './chat';
import { draw } from './icons';
import styles from './widget.css';

// Configured is what the gateway adds to this file. The rest of its configuration comes with the texts of the chat.
interface Configured { agent: string; position: string; accent: string; texts: Record<string, Texts> }

// Texts are the title of the chat, and the words of one that can't be loaded: that it can't be reached, and the label of the site's contact.
type Texts = [string, string, string];

declare const PARLEY: Configured;
declare const CHAT: string; // the file of the chat

interface Parley {
  name?: string | undefined; token?: unknown; places: Set<string>;
  identify(who?: { name?: string; token?: unknown }): void;
  open(): void; close(): void; toggle(): void; send(text: string): unknown; destroy(): void;
  on(event: string, hear: (detail: unknown) => void): () => void;
}

const script = document.currentScript as HTMLScriptElement | null ?? [...document.querySelectorAll<HTMLScriptElement>('script[src*="/widget.js"]')].find((one) => !one.dataset.parley);
const base = new URL('.', script?.src ?? location.href).href;
const settings = 'agent theme position accent greeting avatar privacy contact locale suggestions'.split(' ');

const inline = '[inline], [page]'; // chats that fill their place in the page, instead of a corner

class Chat extends HTMLElement {
  base = base;
  #root = this.attachShadow({ mode: 'open' });
  #launcher = document.createElement('button');
  #panel = document.createElement('div');
  #chat: Promise<Mounted | null> | null = null;
  #mounted: Mounted | null = null;
  #place = '';
  #focuses = false;

  connectedCallback() {
    if (this.#place) return; // it was moved
    this.#place = take(`parley:${this.base}`);
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(PARLEY.accent ? `${styles}:host{--parley-accent:${PARLEY.accent}}` : styles); // which the page can override
    this.#root.adoptedStyleSheets = [sheet];
    const accent = this.getAttribute('accent');
    if (accent) this.style.setProperty('--parley-accent', accent);
    const frame = document.createElement('div');
    this.#panel.className = 'panel';
    if (this.#inline) {
      frame.className = 'inline';
      frame.append(this.#panel);
    } else {
      frame.className = `bubble ${side(this)}`;
      frame.dir = this.#texts === PARLEY.texts.ar ? 'rtl' : 'ltr';
      this.#panel.hidden = true;
      this.#panel.role = 'dialog';
      this.#panel.ariaLabel = this.#title;
      this.#panel.onkeydown = (event) => { if (event.key === 'Escape' && !event.isComposing) this.close(); };
      this.#launcher.className = this.#launcher.part = 'launcher';
      this.#launcher.onclick = () => this.toggle();
      frame.append(this.#panel, this.#launcher);
    }
    this.#root.append(frame);
    this.#mark();
    if (this.#inline || this.hasAttribute('open')) this.open(this.#alone);
    else if (stored(this.#place)) window.requestIdleCallback?.(() => this.#load()) ?? this.#load(); // for its unread answers; not every browser has idle callbacks
  }

  disconnectedCallback() {
    setTimeout(() => {
      if (this.isConnected) return;
      this.#mounted?.destroy();
      this.#chat = this.#mounted = null;
      this.#root.replaceChildren();
      this.#panel.replaceChildren();
      parley.places.delete(this.#place);
      this.#place = '';
    });
  }

  get #texts(): Texts {
    return PARLEY.texts[this.#locale().slice(0, 2)] ?? PARLEY.texts.en!;
  }

  get #title(): string {
    return this.#texts[0].replace('{agent}', () => this.getAttribute('agent') ?? PARLEY.agent);
  }

  get #inline(): boolean {
    return this.matches(inline);
  }

  // alone reports whether the chat is the gateway's own page. In a frame it has no login, and leaves the focus to the site.
  get #alone(): boolean {
    return this.hasAttribute('page') && window.top === window;
  }

  get opened(): boolean {
    return !this.#panel.hidden;
  }

  // open moves the focus to the chat, except at load.
  open(focus = true) {
    const before = this.opened;
    this.#panel.hidden = false;
    this.#focuses = focus;
    this.#load();
    if (focus) this.#mounted?.focus();
    this.#mark();
    if (!before) this.#tell('open');
  }

  close() {
    if (this.#inline || !this.opened) return;
    if (this.#root.activeElement) this.#launcher.focus();
    this.#panel.hidden = true;
    this.#mounted?.close();
    this.#mark();
    this.#tell('close');
  }

  toggle() {
    this[this.opened ? 'close' : 'open']();
  }

  async send(text: string) {
    this.open();
    (await this.#load())?.send(text);
  }

  #load(): Promise<Mounted | null> {
    return this.#chat ??= this.#fetch();
  }

  // fetch loads the chat, and says so while the gateway can't be reached.
  async #fetch(): Promise<Mounted | null> {
    for (let tries = 0; this.#place; tries++) {
      try {
        const locale = this.#locale();
        const [words, { mount }] = await Promise.all([fetch(`${this.base}words.json?${locale}`).then((response) => response.json()), import(`${this.base}${CHAT}${tries ? `?${tries}` : ''}`) as Promise<{ mount(root: ShadowRoot, parent: HTMLElement, options: Mount): Mounted }>]);
        if (locale.startsWith(words.locale)) words.locale = locale; // with its region, for dates
        this.#panel.replaceChildren();
        this.#mounted = mount(this.#root, this.#panel, { ...PARLEY, ...words, ...words.look, ...this.#options() });
        this.#mark();
        this.#tell('ready');
        return this.#mounted;
      } catch (error) {
        if (tries === 0) console.error(`Parley: the chat can't be loaded from ${this.base}: ${(error as Error).message}`);
        this.#down();
        await new Promise((resolve) => { setTimeout(resolve, Math.min(30_000, 1000 * 2 ** tries)); });
      }
    }
    return null;
  }

  #down() {
    const words = document.createElement('p');
    words.className = 'down';
    words.role = 'status';
    words.append(`${this.#texts[1]} `);
    const contact = this.getAttribute('contact');
    if (contact && /^(https?:|mailto:|\/)/.test(contact)) words.append(Object.assign(document.createElement('a'), { href: contact, textContent: this.#texts[2] }));
    this.#panel.replaceChildren(words);
  }

  #options(): Omit<Mount, 'agent' | 'accept' | 'suggestions' | 'locale' | 'strings'> {
    const { suggestions, ...given } = Object.fromEntries(settings.flatMap((name) => (this.hasAttribute(name) ? [[name, this.getAttribute(name)!]] : [])));
    return {
      ...given, ...(suggestions && { suggestions: suggestions.split('|') }),
      base: this.base, place: this.#place, page: this.#alone,
      close: this.#inline ? undefined : () => this.close(), autofocus: this.#focuses, seen: () => this.opened,
      changed: () => this.#mark(), answered: (text) => this.#tell('answer', { text }),
    };
  }

  #locale(): string {
    return (this.getAttribute('locale') || document.documentElement.lang || navigator.language).replace('_', '-');
  }

  #mark() {
    this.#launcher.ariaLabel = this.#title;
    this.#launcher.ariaExpanded = `${this.opened}`;
    this.#launcher.replaceChildren(draw(this.opened ? 'M6 9l6 6 6-6' : 'M5 5h14a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1h-7l-5 4v-4H5a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1z'));
    this.#mounted?.mark(this.#launcher, this.#title);
  }

  #tell(name: string, detail: unknown = {}) {
    this.dispatchEvent(new CustomEvent(`parley-${name}`, { bubbles: true, composed: true, detail }));
  }
}

function stored(place: string): string | null {
  try {
    return localStorage.getItem(place);
  } catch {
    return null;
  }
}

// take returns a storage key that no other chat on this page uses, so that each has its own conversation, also after a reload.
function take(first: string): string {
  let place = first;
  for (let n = 2; parley.places.has(place); n++) place = `${first}#${n}`;
  parley.places.add(place);
  return place;
}

const side = (chat: Element): string => chat.getAttribute('position') ?? PARLEY.position;

const chats = () => [...document.querySelectorAll<Chat>('parley-chat')];

const fresh: Parley = {
  places: new Set(),
  identify({ name, token } = {}) {
    const before = this.token;
    this.name = name && `${name}`;
    this.token = token;
    if (before !== token) window.dispatchEvent(new CustomEvent('parley-identify', { detail: before && token ? null : !token })); // signed out, signed in, or null: another token
  },
  open: () => chats()[0]?.open(),
  close: () => chats()[0]?.close(),
  toggle: () => chats()[0]?.toggle(),
  send: (text) => chats()[0]?.send(text),
  destroy: () => chats().forEach((chat) => chat.remove()),
  on(event, hear) {
    const listen = (heard: Event) => hear((heard as CustomEvent).detail);
    window.addEventListener(`parley-${event}`, listen);
    return () => window.removeEventListener(`parley-${event}`, listen);
  },
};
const host = window as unknown as { parley?: Parley };
const parley = host.parley?.places ? host.parley : Object.assign(fresh, host.parley);
host.parley = parley;
if (!customElements.get('parley-chat')) customElements.define('parley-chat', Chat);

// add puts the chat of a script tag on the page.
function add({ dataset }: HTMLScriptElement) {
  const { target, position = PARLEY.position } = dataset;
  let parent: Element | null = document.documentElement; // which stays when a site replaces its body
  try {
    if (target) parent = document.querySelector(target);
  } catch {
    parent = null; // no selector
  }
  if (!parent) {
    console.error(`Parley: nothing on this page matches data-target="${target}"`);
    return;
  }
  if (!target && chats().some((chat) => !chat.matches(inline) && side(chat) === position)) {
    console.warn('Parley: this page has the chat already');
    return;
  }
  const chat = document.createElement('parley-chat') as Chat;
  chat.base = base;
  for (const name of [...settings, 'open']) if (dataset[name] !== undefined) chat.setAttribute(name, dataset[name]!);
  if (target) chat.setAttribute('inline', '');
  parent.append(chat);
}

if (script && script.dataset.page === undefined && !script.dataset.parley) {
  script.dataset.parley = 'here';
  parley.name ??= script.dataset.name;
  const ready = () => add(script);
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', ready);
  else ready();
}
