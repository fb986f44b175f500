// The gateway's HTTP API: conversations, messages, files, and the stream of an answer.

import type { Chat, Frame, Message, Rating } from './frames';
import { locale, t } from './strings';
import { loadMore } from './view/later';
import { Visitor } from './visitor';

const silence = 45_000; // ms without data until a stream counts as dead; the gateway sends a keep-alive every 15 s

// Refusal is an error response. message is a sentence for the user, wait is in ms, and fields are the reasons for the fields of a form.
export class Refusal extends Error {
  constructor(readonly status: number, sentence: string, readonly wait: number, readonly fields?: Record<string, string>) {
    super(sentence);
  }
}

export interface Parley { name?: string; token?: string | (() => string | Promise<string>) }

// identity is what the page has told about its visitor.
const identity = (): Parley => (window as { parley?: Parley }).parley ?? {};

// Ask is a message, a choice, or the same message again.
export interface Ask { text: string; files?: string[]; name?: string; choice?: { id: string; option: number; values?: string[] | undefined; files?: Record<string, string[]> | undefined } | undefined; again?: string }

export class Gateway {
  #credentials: RequestCredentials;
  #visitor: Visitor;
  #minting: Promise<string | undefined> | null = null;

  // base is the gateway's URL, with a trailing slash. login sends the owner's login, if this browser has one. verify is the site key of the
  // service that tells people from programs.
  constructor(readonly base: string, login = false, readonly verify = '') {
    this.#credentials = login ? 'same-origin' : 'omit';
    this.#visitor = new Visitor(base);
  }

  // direct reports whether the page can use addresses as they are, by the visitor's cookie.
  get direct(): boolean {
    return this.#credentials !== 'omit';
  }

  async open(): Promise<string> {
    return (await this.json<{ conversation: Chat }>('POST', 'api/conversations', {})).conversation.id;
  }

  async rate(id: string, message: string, rating: Rating): Promise<void> {
    await this.request('PUT', `${path(id)}/messages/${encodeURIComponent(message)}/feedback`, { rating });
  }

  // messages returns the history, oldest message first.
  async messages(id: string, signal: AbortSignal): Promise<Message[]> {
    return (await this.json<{ messages: Message[] }>('GET', `${path(id)}/messages`, undefined, signal)).messages;
  }

  async file(address: string, signal?: AbortSignal): Promise<Blob> {
    return (await this.request('GET', address, undefined, signal)).blob();
  }

  // stop ends every answer that is being written in the conversation.
  async stop(id: string): Promise<void> {
    await this.request('POST', `${path(id)}/stop`, {});
  }

  // ask yields the frames of an answer until the stream ends. The same message with the same key again joins the same answer. It throws a
  // Refusal, or what the network throws. accepted() is called when the gateway has the message.
  async* ask(id: string, { choice, again, ...message }: Ask, key: string, signal: AbortSignal, accepted: () => void): AsyncGenerator<Frame> {
    const watch = new Watch(signal);
    try {
      const form = choice ?? (again ? { text: message.text } : { ...message, clientMessageId: key, streamProtocol: 'delta-v2' });
      const target = choice ? 'choices/stream' : again ? `messages/${encodeURIComponent(again)}/again/stream` : 'messages/stream';
      const response = await this.request('POST', `${path(id)}/${target}`, { ...form, reasoning: true }, watch.signal);
      accepted();
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      const events = new Events();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        watch.heard();
        for (const data of events.push(value)) yield JSON.parse(data) as Frame;
      }
    } finally {
      watch.end();
    }
  }

  // signedOut reports whether the browser had an account and has none now: it is a new visitor then.
  signedOut(): boolean {
    const out = !identity().token && this.#visitor.account;
    if (out) this.#visitor.forget();
    return out;
  }

  // earlier returns the token of the visitor that the browser was before it signed in, once for all chats of the page.
  earlier(): string | undefined {
    return identity().token && this.#visitor.signIn();
  }

  // keep makes a token the one of the visitor before again.
  keep(token: string): void {
    this.#visitor.keep(token);
  }

  #fetch(method: string, address: string, body?: unknown, signal?: AbortSignal, token?: string): Promise<Response> {
    const language = locale();
    const headers: Record<string, string> = language ? { 'Accept-Language': language } : {};
    if (body) headers['Content-Type'] = 'application/json';
    if (token) headers.Authorization = `Bearer ${token}`;
    return fetch(this.base + address, { method, signal: signal ?? null, body: body ? JSON.stringify(body) : null, headers, credentials: this.#credentials, cache: 'no-store' });
  }

  // token returns the token of the visitor's account, or that of an anonymous visitor, which the gateway makes once.
  async token(): Promise<string | undefined> {
    const { token } = identity();
    if (token) return typeof token === 'function' ? token() : token;
    this.signedOut();
    if (this.#visitor.token && !this.#visitor.due) return this.#visitor.token;
    return this.#minting ??= this.#mint().finally(() => { this.#minting = null; });
  }

  async #mint(): Promise<string | undefined> {
    const before = this.#visitor.token;
    const proof = await this.#proof(before);
    const response = await this.#fetch('POST', 'api/visitors', proof, undefined, before).catch(() => null);
    if (this.verify && !before && response) await this.#checked(response, 403); // nothing is accepted without a visitor, and a proof is used up
    const { visitor } = response?.ok ? await response.json() : {} as { visitor?: { token: string } };
    if (response?.status === 401) this.#visitor.forget();
    return visitor ? this.#visitor.keep(visitor.token, before) : before;
  }

  // proof is that of a new visitor, where the gateway wants one. It throws a Refusal if its service fails.
  async #proof(before?: string): Promise<unknown> {
    return this.verify && !before && (await loadMore()).prove(this.verify);
  }

  async json<T>(method: string, address: string, body?: unknown, signal?: AbortSignal): Promise<T> {
    return (await this.request(method, address, body, signal)).json();
  }

  // request sends a request, and returns its response. It throws a Refusal, or an error of the network.
  async request(method: string, address: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
    const token = await this.token();
    let response = await this.#fetch(method, address, body, signal, token);
    if (response.status === 401 && token && token === this.#visitor.token) { // it has ended: the browser is a new visitor
      this.#visitor.forget();
      response = await this.#fetch(method, address, body, signal, await this.token());
    }
    return this.#checked(response);
  }

  // checked returns a response, or throws the Refusal that it is.
  async #checked(response: Response, status = response.status): Promise<Response> {
    if (response.ok) return response;
    const { error, code, fields } = await response.json().catch(() => ({}));
    if (code === 'ORIGIN_NOT_ALLOWED') console.error(`Parley: add "${location.origin}" to web.origins in the config.yaml of the gateway at ${this.base}`);
    throw new Refusal(status, error || unreachable(), Number(response.headers.get('Retry-After')) * 1000 || 0, fields);
  }
}

export const unreachable = () => t('The gateway can’t be reached right now.');

export const path = (id: string) => `api/conversations/${encodeURIComponent(id)}`;

// Watch aborts a request without data for too long, also when a sleeping tab wakes up.
class Watch {
  #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #last = 0;
  #leave = () => this.#controller.abort();
  #wake = () => {
    if (!document.hidden && Date.now() - this.#last > silence / 2) this.#controller.abort();
  };

  constructor(readonly outer: AbortSignal) {
    outer.addEventListener('abort', this.#leave);
    document.addEventListener('visibilitychange', this.#wake);
    if (outer.aborted) this.#leave();
    this.heard();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  heard(): void {
    this.#last = Date.now();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#leave, silence);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.outer.removeEventListener('abort', this.#leave);
    document.removeEventListener('visibilitychange', this.#wake);
    this.#controller.abort(); // closes the connection when iteration stops
  }
}

// Events cuts a text/event-stream into the data of its events. Comments and other fields are left out.
export class Events {
  #rest = '';
  #data: string[] = [];

  // push returns the events that chunk completes.
  push(chunk: string): string[] {
    const out: string[] = [];
    const lines = (this.#rest + chunk).split('\n');
    this.#rest = lines.pop()!;
    for (let line of lines) {
      if (line.endsWith('\r')) line = line.slice(0, -1);
      if (line.startsWith('data:')) this.#data.push(line.slice(line[5] === ' ' ? 6 : 5));
      else if (line === '' && this.#data.length > 0) {
        out.push(this.#data.join('\n'));
        this.#data = [];
      }
    }
    return out;
  }
}
