// Files attached to the next message: picked, dropped or pasted, and uploaded at once.

import { path, Refusal, unreachable } from './api';
import { backOff, type Conversation, pause } from './conversation';
import { newKey } from './dom';
import type { StoredFile } from './frames';
import { t } from './strings';

const pictures = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
// The questions of messages with only pictures, and with other files; the same as the gateway's.
const wordless = 'Please describe the attached image.';
const wordlessFiles = 'Please read the attached files.';
const attempts = 5; // to upload a file, after the first
const most = 8; // per message
const longest = 20 << 20; // the gateway's limit, in bytes
const largest = 10 << 20; // bytes of a picture that models accept
const overrides = /[\u202a-\u202e\u2066-\u2069]/g; // of the direction, which can hide what kind a file is; the gateway removes them, too
const side = 2048; // pixels, of a picture that has to be reduced

export class Attachments {
  items: Attached[] = [];
  #reading: Promise<void> = Promise.resolve();

  // tell shows a sentence to the user; changed is called after each change; added after each added file.
  constructor(readonly conversation: Conversation, readonly tell: (text: string) => void, readonly changed: () => void, readonly added: () => void) {}

  // add reads files, one after the other. They are uploaded at the same time.
  add(files: Iterable<File>): void {
    for (const file of [...files]) this.#reading = this.#reading.then(() => this.#add(file));
  }

  // take empties the list and returns its files once all are uploaded, and those that are refused. It returns null if one can't be sent now.
  async take(): Promise<[Attached[], Attached[]] | null> {
    await this.#reading;
    const { items } = this;
    if (items.some(({ sending }) => sending)) this.tell(t('The message is sent as soon as its files are.'));
    await Promise.all(items.map(({ settled }) => settled));
    if (items !== this.items) return this.take(); // one was removed or added meanwhile
    if (items.some(({ stored, refused }) => !stored && !refused)) {
      this.tell(t('Some files can’t be sent. Remove them first.'));
      return null;
    }
    this.restore([]);
    return [items.filter(({ stored }) => stored), items.filter(({ refused }) => refused)];
  }

  // keys returns those of all files once they are uploaded, or null if one can't be sent.
  async keys(): Promise<string[] | null> {
    await this.#reading;
    await Promise.all(this.items.map(({ settled }) => settled));
    return this.items.every(({ stored }) => stored) ? this.items.map(({ key }) => key) : null;
  }

  // keep adds a file that was uploaded before a reload.
  keep({ key, name }: { key: string; name: string }): void {
    this.items.push(Object.assign(new Attached(new File([], name), this.changed), { key, stored: {} as StoredFile }));
  }

  // silent returns the question of a message with only files, "" without any.
  silent(files: Attached[]): string {
    if (files.length === 0) return '';
    return files.every(({ preview }) => preview) ? wordless : wordlessFiles;
  }

  // restore replaces the list.
  restore(items: Attached[]): void {
    this.items = items;
    this.changed();
  }

  // again uploads everything once more, to another conversation.
  again(items: Attached[] = this.items): void {
    for (const item of this.items) item.cancel();
    this.restore([]);
    this.add(items.map(({ file }) => file));
  }

  remove(item: Attached): void {
    item.cancel();
    const { id, gateway } = this.conversation;
    if (item.stored && id) gateway.request('DELETE', `${path(id)}/files/${item.key}`).catch(() => {}); // otherwise the gateway removes it later
    this.restore(this.items.filter((other) => other !== item));
  }

  async #add(file: File): Promise<void> {
    if (this.items.length >= most) return this.tell(t('A message may have {n} files.', { n: most }));
    const item = new Attached(file, this.changed);
    await item.read();
    this.restore([...this.items, item]);
    this.tell('');
    this.added();
    item.settled = item.send(this.conversation);
  }
}

// Attached is one file in the list.
export class Attached {
  readonly key = newKey();
  readonly name: string;
  stored: StoredFile | null = null;
  preview: string | null = null; // of a picture, as a data: URL
  progress = 0; // from 0 to 1
  sending = false;
  refused = false;
  why = '';
  settled: Promise<void> = Promise.resolve();
  #leaving = new AbortController();
  #body: Blob;

  constructor(readonly file: File, readonly changed: () => void) {
    this.name = [...(file.name || t('picture')).replace(overrides, '')].slice(0, 255).join('');
    this.#body = file;
  }

  // read prepares the file for sending.
  async read(): Promise<void> {
    const foreign = this.file.type.startsWith('image/') && !pictures.includes(this.file.type);
    if (foreign || (pictures.includes(this.file.type) && this.file.size > largest)) this.#body = await smaller(this.file).catch(() => this.file);
    if (pictures.includes(this.#body.type) && this.#body.size <= largest) this.preview = await dataURL(this.#body);
  }

  async send(to: Conversation): Promise<void> {
    if (this.file.size === 0) return this.#fail(t('This file is empty.'), true);
    if (this.#body.size > longest) return this.#fail(t('This file is larger than 20 MB.'), true);
    this.sending = true;
    this.changed();
    const progress = (part: number) => {
      this.progress = part;
      this.changed();
    };
    try {
      this.stored = await upload(to, this.#body, this.name, this.key, progress, this.#leaving.signal);
    } catch (error) {
      const { message, status } = error as Refusal;
      if (!this.#leaving.signal.aborted) this.#fail(message, status === 413 || status === 415);
    }
    this.sending = false;
    this.changed();
  }

  cancel(): void {
    this.#leaving.abort();
  }

  #fail(why: string, refused: boolean): void {
    this.refused = refused;
    this.why = why;
    this.changed();
  }
}

// dataURL returns bytes as a data: URL.
export function dataURL(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}

// smaller re-encodes an image as a smaller JPEG. It rejects anything but an image.
async function smaller(file: Blob): Promise<Blob> {
  const bitmap = await createImageBitmap(file);
  const scale = Math.min(1, side / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.round(bitmap.width * scale);
  canvas.height = Math.round(bitmap.height * scale);
  canvas.getContext('2d')!.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new TypeError('not drawn'))), 'image/jpeg', 0.85);
  });
}

// upload stores a file for the next message. It tries again after what can pass.
async function upload(to: Conversation, file: Blob, name: string, key: string, progress: (part: number) => void, signal: AbortSignal): Promise<StoredFile> {
  for (let tries = 0; ; tries++) {
    try {
      return await post(to, file, name, key, progress, signal);
    } catch (error) {
      const { status = 0, wait = 0 } = error as Partial<Refusal>;
      const passing = !status || status === 429 || status >= 500;
      if (signal.aborted || !passing || tries === attempts) throw error;
      progress(0);
      await pause(Math.max(backOff(tries), wait), signal);
    }
  }
}

// post uploads a file. The same key again returns the same file. progress is called with the part that is sent, from 0 to 1. It throws a
// Refusal, or a TypeError if the network fails.
async function post(to: Conversation, file: Blob, name: string, key: string, progress: (part: number) => void, signal: AbortSignal): Promise<StoredFile> {
  const request = new XMLHttpRequest(); // fetch tells no progress
  const id = await to.open();
  const token = await to.gateway.token();
  return new Promise((resolve, reject) => {
    const lost = () => reject(new TypeError(unreachable()));
    request.open('POST', `${to.gateway.base}${path(id)}/files?${new URLSearchParams({ clientFileId: key, name })}`);
    request.setRequestHeader('Content-Type', file.type || 'application/octet-stream');
    if (token) request.setRequestHeader('Authorization', `Bearer ${token}`);
    request.responseType = 'json';
    request.upload.addEventListener('progress', ({ loaded, total }) => progress(loaded / total));
    request.addEventListener('load', () => {
      const { file: kept, error } = request.response ?? {};
      if (kept) resolve(kept);
      else reject(new Refusal(request.status, error || unreachable(), Number(request.getResponseHeader('Retry-After')) * 1000 || 0));
    });
    request.addEventListener('error', lost);
    request.addEventListener('abort', lost);
    signal.addEventListener('abort', () => request.abort());
    if (signal.aborted) lost();
    else request.send(file);
  });
}
