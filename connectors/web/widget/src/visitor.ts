// The token of an anonymous visitor, in the browser's storage.

import { stored } from './dom';

const renewal = 30 * 24 * 3600_000; // ms until it is renewed

interface Held { token?: string; at?: number; account?: boolean }

export class Visitor {
  #place: string;
  #held: Held | null = null; // where there is no storage

  constructor(base: string) {
    this.#place = `parley-visitor:${base}`;
  }

  get token(): string | undefined {
    return this.#read()?.token;
  }

  // account reports whether the browser has used the token of an account since.
  get account(): boolean {
    return Boolean(this.#read()?.account);
  }

  get due(): boolean {
    return Date.now() - (this.#read()?.at ?? 0) > renewal;
  }

  // signIn forgets the visitor, for an account, and returns the token.
  signIn(): string | undefined {
    const { token } = this;
    if (!this.account) this.#write({ account: true });
    return token;
  }

  // keep stores a token, unless another tab has stored one meanwhile, and returns the stored one.
  keep(token: string, before?: string): string | undefined {
    const now = this.token;
    if (!now || now === before) this.#write({ token, at: Date.now() });
    return this.token;
  }

  forget(): void {
    this.#write(null);
  }

  #read(): Held | null {
    return stored(() => JSON.parse(localStorage.getItem(this.#place)!) as Held | null) ?? this.#held;
  }

  #write(held: Held | null): void {
    this.#held = held;
    stored(() => localStorage.setItem(this.#place, JSON.stringify(held))); // without storage it lasts until the page is closed
  }
}
