// The gateway's HTTP API: conversations, messages, and the stream of an answer.

const silence = 45_000; // ms without data until a stream counts as dead; the gateway sends a keep-alive every 15 s

const renewal = 30 * 24 * 3600_000; // ms until a visitor's token is renewed

const unreachable = 'The gateway can’t be reached right now.';

// Refusal is an error response. message is a sentence for the user, wait is in ms.
export class Refusal extends Error {
  constructor(status, sentence, wait) {
    super(sentence);
    this.status = status;
    this.wait = wait;
  }
}

export class Gateway {
  #base;
  #credentials;
  #visitor; // the visitor's token
  #minting;

  // base is the gateway's URL, with a trailing slash. login sends the owner's login, if this browser has one.
  constructor(base, login = false) {
    this.#base = base;
    this.#credentials = login ? 'same-origin' : 'omit';
    this.#visitor = new Visitor(base);
  }

  // direct reports whether the page can use addresses as they are, by the visitor's cookie.
  get direct() {
    return this.#credentials !== 'omit';
  }

  // open starts a conversation and returns its id.
  async open() {
    const { conversation } = await (await this.#request('POST', 'api/conversations', {})).json();
    return conversation.id;
  }

  // messages returns the history, oldest message first.
  async messages(id, signal) {
    return (await (await this.#request('GET', `${path(id)}/messages`, undefined, signal)).json()).messages;
  }

  // picture returns the image at a message's URL, as a data: URL.
  async picture(address, signal) {
    const blob = await this.file(address, signal);
    return new Promise((resolve, reject) => {
      const reader = new FileReader();
      reader.onload = () => resolve(reader.result);
      reader.onerror = () => reject(reader.error);
      reader.readAsDataURL(blob);
    });
  }

  // file returns the file at a message's URL, as a Blob.
  async file(address, signal) {
    return (await this.#request('GET', address, undefined, signal)).blob();
  }

  // upload stores a file for a message to name, and returns what the gateway says of it. The same key again returns the same file. progress is
  // called with the part that is sent, from 0 to 1. It throws a Refusal, or a TypeError if the network fails.
  async upload(id, file, name, key, progress, signal) {
    const request = new XMLHttpRequest(); // fetch tells no progress
    const token = await this.#token();
    return new Promise((resolve, reject) => {
      const lost = () => reject(new TypeError(unreachable));
      request.open('POST', `${this.#base}${path(id)}/files?${new URLSearchParams({ clientFileId: key, name })}`);
      request.setRequestHeader('Content-Type', file.type || 'application/octet-stream');
      if (token) request.setRequestHeader('Authorization', `Bearer ${token}`);
      request.responseType = 'json';
      request.upload.addEventListener('progress', ({ loaded, total }) => progress(loaded / total));
      request.addEventListener('load', () => {
        const { file: stored, error } = request.response ?? {};
        if (stored) resolve(stored);
        else reject(new Refusal(request.status, error || unreachable, Number(request.getResponseHeader('Retry-After')) * 1000 || 0));
      });
      request.addEventListener('error', lost);
      request.addEventListener('abort', lost);
      signal.addEventListener('abort', () => request.abort());
      if (signal.aborted) lost();
      else request.send(file);
    });
  }

  // drop removes an uploaded file that no message names.
  async drop(id, key) {
    await this.#request('DELETE', `${path(id)}/files/${key}`);
  }

  // at is the whole of an address that messages give.
  at(address) {
    return this.#base + address;
  }

  // stop ends every answer that is being written in the conversation.
  async stop(id) {
    await this.#request('POST', `${path(id)}/stop`, {});
  }

  // ask sends a message, or a choice, and yields the frames of its answer until the stream ends. The same key again joins the
  // same answer. It throws a Refusal, or what the network throws. accepted() is called when the gateway has the message.
  async* ask(id, { choice, attached, ...message }, key, signal, accepted) {
    const watch = new Watch(signal);
    try {
      const body = { ...(choice ?? { ...message, clientMessageId: key, streamProtocol: 'delta-v2' }), reasoning: true };
      const response = await this.#request('POST', `${path(id)}/${choice ? 'choices' : 'messages'}/stream`, body, watch.signal);
      accepted();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      const events = new Events();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        watch.heard();
        for (const data of events.push(value)) yield JSON.parse(data);
      }
    } finally {
      watch.end();
    }
  }

  #fetch(method, address, body, signal, token) {
    const headers = { ...(body && { 'Content-Type': 'application/json' }), ...(token && { Authorization: `Bearer ${token}` }) };
    return fetch(this.#base + address, { method, signal, body: body && JSON.stringify(body), headers, credentials: this.#credentials, cache: 'no-store' });
  }

  // token returns the token of the visitor's account, or that of an anonymous visitor, which the gateway makes once.
  async #token() {
    const { token } = window.parley ?? {};
    if (token) return typeof token === 'function' ? token() : token;
    this.signedOut();
    if (this.#visitor.token && !this.#visitor.due) return this.#visitor.token;
    return this.#minting ??= this.#mint().finally(() => { this.#minting = null; });
  }

  // signedOut reports whether the browser had an account and has none now: it is a new visitor then.
  signedOut() {
    const out = !window.parley?.token && this.#visitor.account;
    if (out) this.#visitor.forget();
    return out;
  }

  // offered returns the conversations of the visitor that the browser was before it signed in, once for all chats of the page.
  async offered() {
    const visitorToken = window.parley?.token && this.#visitor.signIn();
    if (!visitorToken) return [];
    try {
      const { conversations } = await (await this.#request('POST', 'api/account/conversations', { visitorToken })).json();
      return conversations.map(({ id }) => ({ id, visitorToken }));
    } catch (error) {
      if (!(error instanceof Refusal)) this.#visitor.keep(visitorToken); // it is offered again
      return [];
    }
  }

  // adopt moves offered conversations to the account.
  async adopt(offered) {
    const [{ visitorToken }] = offered;
    await this.#request('POST', 'api/account/conversations', { visitorToken, ids: offered.map(({ id }) => id) });
  }

  async #mint() {
    const before = this.#visitor.token;
    const response = await this.#fetch('POST', 'api/visitors', undefined, undefined, before).catch(() => null);
    const { visitor } = response?.ok ? await response.json() : {};
    if (response?.status === 401) this.#visitor.forget();
    return visitor ? this.#visitor.keep(visitor.token, before) : before;
  }

  async #request(method, address, body, signal) {
    const token = await this.#token();
    let response = await this.#fetch(method, address, body, signal, token);
    if (response.status === 401 && token && token === this.#visitor.token) { // it has ended: the browser is a new visitor
      this.#visitor.forget();
      response = await this.#fetch(method, address, body, signal, await this.#token());
    }
    if (response.ok) return response;
    const { error, code } = await response.json().catch(() => ({}));
    if (code === 'ORIGIN_NOT_ALLOWED') console.error(`Parley: add "${location.origin}" to web.origins in the config.yaml of the gateway at ${this.#base}`);
    const wait = Number(response.headers.get('Retry-After')) * 1000 || 0;
    throw new Refusal(response.status, error || unreachable, wait);
  }
}

// Visitor is the token of an anonymous visitor, in the browser's storage; held is where there is none.
class Visitor {
  #place;
  #held = null;

  constructor(base) {
    this.#place = `parley-visitor:${base}`;
  }

  get token() {
    return this.#read()?.token;
  }

  // account reports whether the browser has used the token of an account since.
  get account() {
    return Boolean(this.#read()?.account);
  }

  // signIn forgets the visitor, for an account, and returns the token.
  signIn() {
    const { token } = this;
    if (!this.account) this.#write({ account: true });
    return token;
  }

  get due() {
    return Date.now() - (this.#read()?.at ?? 0) > renewal;
  }

  // keep stores a token, unless another tab has stored one meanwhile, and returns the stored one.
  keep(token, before) {
    const now = this.token;
    if (!now || now === before) this.#write({ token, at: Date.now() });
    return this.token;
  }

  forget() {
    this.#write(null);
  }

  #read() {
    try {
      return JSON.parse(localStorage.getItem(this.#place)) ?? this.#held;
    } catch {
      return this.#held;
    }
  }

  #write(held) {
    this.#held = held;
    try {
      localStorage.setItem(this.#place, JSON.stringify(held));
    } catch { /* it lasts until the page is closed */ }
  }
}

const path = (id) => `api/conversations/${encodeURIComponent(id)}`;

// Watch aborts a request without data for too long, also when a sleeping tab wakes up.
class Watch {
  #controller = new AbortController();
  #leave = () => this.#controller.abort();
  #wake = () => {
    if (!document.hidden && Date.now() - this.#last > silence / 2) this.#controller.abort();
  };
  #outer;
  #timer;
  #last;

  constructor(outer) {
    this.#outer = outer;
    outer.addEventListener('abort', this.#leave);
    document.addEventListener('visibilitychange', this.#wake);
    if (outer.aborted) this.#leave();
    this.heard();
  }

  get signal() {
    return this.#controller.signal;
  }

  heard() {
    this.#last = Date.now();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#leave, silence);
  }

  end() {
    clearTimeout(this.#timer);
    this.#outer.removeEventListener('abort', this.#leave);
    document.removeEventListener('visibilitychange', this.#wake);
    this.#controller.abort(); // closes the connection when iteration stops
  }
}

// Events cuts a text/event-stream into the data of its events. Comments and other fields are left out.
export class Events {
  #rest = '';
  #data = [];

  // push returns the events that chunk completes.
  push(chunk) {
    const out = [];
    const lines = (this.#rest + chunk).split('\n');
    this.#rest = lines.pop();
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
