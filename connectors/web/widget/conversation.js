// One conversation with the gateway: its id, and answers that survive connection losses.

import { Refusal } from './protocol.js';

const shortest = 500; // ms between two attempts to reconnect
const longest = 30_000;
const attempts = 5; // to upload a file, after the first

export class Conversation {
  #gateway;
  #place; // in the browser's storage
  #id;
  #opening = null; // the request for a new conversation
  #taken = Promise.resolve(); // settled when the previous message was sent or failed

  // place is the storage key of the conversation's id.
  constructor(gateway, place) {
    this.#gateway = gateway;
    this.#place = place;
    this.#id = stored(() => localStorage.getItem(this.#place)) ?? null;
  }

  // messages returns the history; nothing if the conversation is new or gone. While the gateway can't be
  // reached it calls waiting and retries. It throws a Refusal if this site is not allowed.
  async messages(signal, waiting) {
    for (let tries = 0; this.#id && !signal.aborted; tries++) {
      try {
        return await this.#gateway.messages(this.#id, signal);
      } catch (error) {
        if (error.status === 404) break;
        if (error.status === 403) throw error;
        waiting(tries);
        await pause(Math.max(backOff(tries), error.wait ?? 0), signal);
      }
    }
    if (!signal.aborted) this.forget();
    return [];
  }

  // forget makes the next message open a new conversation.
  forget() {
    this.#id = this.#opening = null;
    stored(() => localStorage.removeItem(this.#place));
  }

  // picture returns an image of a message, as a data: URL.
  picture(address, signal) {
    return this.#gateway.picture(address, signal);
  }

  // file returns a file of a message, and at its URL.
  file(address) {
    return this.#gateway.file(address);
  }

  at(address) {
    return this.#gateway.at(address);
  }

  get direct() {
    return this.#gateway.direct;
  }

  // upload stores a file for the next message, see Gateway.upload. It tries again after what can pass.
  async upload(file, name, key, progress, signal) {
    for (let tries = 0; ; tries++) {
      try {
        return await this.#gateway.upload(await this.#open(), file, name, key, progress, signal);
      } catch (error) {
        const passing = !(error instanceof Refusal) || error.status === 429 || error.status >= 500;
        if (signal.aborted || !passing || tries === attempts) throw error;
        progress(0);
        await pause(Math.max(backOff(tries), error.wait ?? 0), signal);
      }
    }
  }

  // drop removes a file that is not sent. Without it the gateway removes the file later.
  drop(key) {
    if (this.#id) this.#gateway.drop(this.#id, key).catch(() => {});
  }

  async stop() {
    if (this.#id) await this.#gateway.stop(this.#id);
  }

  // ask sends a message and passes every frame of its answer to turn.frame. After each connection loss it calls
  // turn.waiting and repeats the request with the same key, which joins the same answer. It returns when the
  // answer has ended or turn.signal is aborted, and throws a Refusal if the gateway refuses the message. Messages
  // are sent in order. A choice is sent only once: if its connection is lost, turn.lost is called.
  // turn.rejoins means that the gateway already has the message: then a rate limit is no reason to give up.
  async ask(turn, message, key) {
    const before = this.#taken;
    let taken;
    this.#taken = new Promise((resolve) => { taken = resolve; });
    await before;
    try {
      await this.#follow(turn, message, key, taken);
    } finally {
      taken();
    }
  }

  async #follow(turn, message, key, taken) {
    let accepted = Boolean(turn.rejoins);
    const heard = () => {
      accepted = true;
      taken();
    };
    for (let tries = 0; !turn.signal.aborted; tries++) {
      let wait = backOff(tries);
      let reached = false;
      try {
        const id = await this.#open();
        for await (const frame of this.#gateway.ask(id, message, key, turn.signal, heard)) {
          if (frame.type === 'reconnect') {
            wait = frame.after;
            break;
          }
          tries = 0;
          turn.frame(frame);
          if (frame.type === 'done') return;
        }
      } catch (error) {
        if (turn.signal.aborted) return;
        if (error instanceof Refusal) {
          reached = error.status === 429;
          const passing = error.status >= 500 || (accepted && reached);
          if (!passing) throw error;
          wait = Math.max(wait, error.wait * (1 + Math.random() / 4));
        }
      }
      if (accepted && message.choice) return turn.lost();
      turn.waiting(reached ? 0 : tries);
      await pause(wait, turn.signal);
    }
  }

  async #open() {
    if (this.#id) return this.#id;
    const opening = this.#opening ??= this.#gateway.open();
    try {
      const id = await opening;
      if (this.#opening === opening) { // not superseded meanwhile
        this.#id = id;
        stored(() => localStorage.setItem(this.#place, id));
      }
      return id;
    } finally {
      if (this.#opening === opening) this.#opening = null;
    }
  }
}

// newKey returns an idempotency key for a message.
export function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

// backOff grows with each attempt, with jitter.
const backOff = (tries) => Math.min(longest, shortest * 2 ** tries) * (0.5 + Math.random());

// pause ends early when the network is back or signal is aborted.
function pause(ms, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      window.removeEventListener('online', end);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    window.addEventListener('online', end);
    signal.addEventListener('abort', end);
  });
}

// stored uses the browser's storage if allowed; without it a conversation lasts until the page is closed.
function stored(use) {
  try {
    return use();
  } catch {
    return null;
  }
}
