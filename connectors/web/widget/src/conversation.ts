// One conversation with the gateway: its id, and answers that survive connection losses.

import { type Ask, type Gateway, Refusal } from './api';
import { stored } from './dom';
import type { Frame, Message } from './frames';

const shortest = 500; // ms between two attempts to reconnect
const longest = 30_000;

// Turn is one question and the answer to it.
export interface Turn {
  signal: AbortSignal;
  rejoins?: boolean | undefined; // the gateway already has the message: then a rate limit is no reason to give up
  frame(frame: Frame): void;
  waiting(tries: number): void;
  lost(): void;
}

export class Conversation {
  #id: string | null;
  #opening: Promise<string> | null = null;
  #taken: Promise<void> = Promise.resolve(); // settled when the previous message was sent or failed

  // place is the storage key of the conversation's id.
  constructor(readonly gateway: Gateway, readonly place: string) {
    this.#id = stored(() => localStorage.getItem(place));
  }

  get id(): string | null {
    return this.#id;
  }

  // is reports whether an id is that of the conversation. A new one becomes the one that another tab has opened meanwhile.
  is(id: string): boolean {
    if (!this.#id && !this.#opening && stored(() => localStorage.getItem(this.place)) === id) this.#id = id;
    return this.#id === id;
  }

  // enter continues another conversation of the visitor; null makes the next message open a new one.
  enter(id: string | null): void {
    this.#id = id;
    this.#opening = null;
    stored(() => (id ? localStorage.setItem(this.place, id) : localStorage.removeItem(this.place)));
  }

  // messages returns the history; nothing if the conversation is new or gone. While the gateway can't be reached it calls waiting and
  // retries. It throws a Refusal if this site is not allowed.
  async messages(signal: AbortSignal, waiting: (tries: number) => void): Promise<Message[]> {
    for (let tries = 0; this.#id && !signal.aborted; tries++) {
      try {
        return await this.gateway.messages(this.#id, signal);
      } catch (error) {
        const { status, wait = 0 } = error as Partial<Refusal>;
        if (status === 404) break;
        if (status === 403) throw error;
        if (signal.aborted) break;
        waiting(tries);
        await pause(Math.max(backOff(tries), wait), signal);
      }
    }
    if (!signal.aborted) this.enter(null);
    return [];
  }

  async stop(): Promise<void> {
    if (this.#id) await this.gateway.stop(this.#id);
  }

  // ask sends a message and passes every frame of its answer to turn.frame. After each connection loss it calls turn.waiting and repeats the
  // request with the same key, which joins the same answer. It returns when the answer has ended or turn.signal is aborted, and throws a
  // Refusal if the gateway refuses the message. Messages are sent in order. A choice is sent only once: if its connection is lost,
  // turn.lost is called.
  async ask(turn: Turn, message: Ask, key: string): Promise<void> {
    const before = this.#taken;
    let taken = () => {};
    this.#taken = new Promise((resolve) => { taken = resolve; });
    await before;
    try {
      await this.#follow(turn, message, key, taken);
    } finally {
      taken();
    }
  }

  async #follow(turn: Turn, message: Ask, key: string, taken: () => void): Promise<void> {
    let accepted = Boolean(turn.rejoins);
    const heard = () => {
      accepted = true;
      taken();
    };
    for (let tries = 0; !turn.signal.aborted; tries++) {
      let wait = backOff(tries);
      let reached = false;
      try {
        for await (const frame of this.gateway.ask(await this.open(), message, key, turn.signal, heard)) {
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
      if (accepted && (message.choice || message.again)) return turn.lost();
      turn.waiting(reached ? 0 : tries);
      await pause(wait, turn.signal);
    }
  }

  async open(): Promise<string> {
    if (this.#id) return this.#id;
    const opening = this.#opening ??= this.gateway.open();
    try {
      const id = await opening;
      if (this.#opening === opening) this.enter(id); // not superseded meanwhile
      return id;
    } finally {
      if (this.#opening === opening) this.#opening = null;
    }
  }
}

// backOff grows with each attempt, with jitter.
export const backOff = (tries: number) => Math.min(longest, shortest * 2 ** tries) * (0.5 + Math.random());

// pause ends early when the network or the visitor is back or signal is aborted.
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      window.removeEventListener('online', end);
      document.removeEventListener('visibilitychange', end);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    window.addEventListener('online', end);
    document.addEventListener('visibilitychange', end);
    signal.addEventListener('abort', end);
  });
}
