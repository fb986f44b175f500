// Files attached to the next message: picked, dropped or pasted, and uploaded at once.

import { newKey } from './conversation.js';
import { button, el, icon } from './dom.js';

const pictures = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
const most = 8; // per message
const longest = 20 << 20; // the gateway's limit, in bytes
const largest = 10 << 20; // bytes of a picture that models accept
const side = 2048; // pixels, of a picture that has to be reduced

export class Attachments {
  button = button('clip', 'Attach files', () => this.#input.click());
  #list = el('ul', { class: 'attached', 'aria-label': 'Files to send', hidden: true });
  #input = el('input', { type: 'file', multiple: true, hidden: true, change: () => this.#picked() });
  element = el('div', { class: 'attachments' }, this.#list, this.#input);
  #items = [];
  #reading = Promise.resolve();
  #tell;
  #added;
  #shelf;

  // tell shows a sentence to the user; added is called after each added file; shelf has upload(), and drop() for files that are not sent.
  constructor(tell, added, shelf) {
    this.#tell = tell;
    this.#added = added;
    this.#shelf = shelf;
  }

  // listen accepts files dropped on a node.
  listen(node) {
    const over = (on) => (event) => {
      if (![...event.dataTransfer.types].includes('Files')) return;
      event.preventDefault();
      node.classList.toggle('dropping', on);
    };
    node.addEventListener('dragover', over(true));
    node.addEventListener('dragleave', over(false));
    node.addEventListener('drop', (event) => {
      over(false)(event);
      this.add(event.dataTransfer.files);
    });
  }

  // paste takes files from the clipboard, unless it also holds text.
  paste(event) {
    const { files, types: kinds } = event.clipboardData;
    if (files.length === 0 || kinds.includes('text/plain')) return;
    event.preventDefault();
    this.add(files);
  }

  // add reads files, one after the other. They are uploaded at the same time.
  add(files) {
    for (const file of [...files]) this.#reading = this.#reading.then(() => this.#add(file));
  }

  // offer limits the file picker.
  offer(accept) {
    this.#input.accept = accept;
  }

  // take empties the list and returns its files once all are uploaded, and those that are refused. It returns null if one can't be sent now.
  async take() {
    await this.#reading;
    const items = this.#items;
    if (items.some((item) => item.sending)) this.#tell('The message is sent as soon as its files are.');
    await Promise.all(items.map((item) => item.settled));
    if (items !== this.#items) return this.take(); // one was removed or added meanwhile
    if (items.some((item) => !item.stored && !item.refused)) {
      this.#tell('Some files can’t be sent. Remove them first.');
      return null;
    }
    this.restore([]);
    return [items.filter((item) => item.stored), items.filter((item) => item.refused)];
  }

  // restore replaces the list.
  restore(items) {
    this.#items = items;
    this.#list.hidden = items.length === 0;
    this.#list.replaceChildren(...items.map((item) => item.node));
  }

  // again uploads everything once more, to another conversation.
  again(items = this.#items) {
    for (const item of this.#items) item.cancel();
    this.restore([]);
    this.add(items.map((item) => item.file));
  }

  #picked() {
    this.add(this.#input.files);
    this.#input.value = ''; // allows picking the same file again
  }

  async #add(file) {
    if (this.#items.length >= most) return this.#tell(`A message may have ${most} files.`);
    const item = new Item(file, () => this.#remove(item));
    await item.read();
    this.restore([...this.#items, item]);
    this.#tell('');
    this.#added();
    item.settled = item.send(this.#shelf);
  }

  #remove(item) {
    item.cancel();
    if (item.stored) this.#shelf.drop(item.key);
    this.restore(this.#items.filter((other) => other !== item));
    this.button.focus();
  }
}

// Item is one file in the list.
class Item {
  key = newKey();
  stored = null; // what the gateway says of it
  sending = false;
  refused = false;
  settled = Promise.resolve();
  #leaving = new AbortController();
  #body;
  #bar = el('progress', { max: '1', value: '0' });
  #why = el('span', { class: 'why', role: 'alert' });

  constructor(file, remove) {
    this.file = file;
    this.name = [...(file.name || 'picture')].slice(0, 255).join('');
    this.#bar.setAttribute('aria-label', `Sending ${this.name}`);
    this.node = el('li', {}, this.#bar, this.#why, button('close', `Remove ${this.name}`, remove, { class: 'icon' }));
  }

  // read prepares the file, and shows it.
  async read() {
    this.#body = this.file;
    const foreign = this.file.type.startsWith('image/') && !pictures.includes(this.file.type);
    if (foreign || (pictures.includes(this.file.type) && this.file.size > largest)) this.#body = await smaller(this.file).catch(() => this.file);
    this.preview = pictures.includes(this.#body.type) && this.#body.size <= largest ? await dataURL(this.#body) : null;
    const name = () => el('span', { class: 'name', dir: 'auto', title: this.name }, icon('file'), this.name);
    const shown = this.preview ? el('img', { src: this.preview, alt: this.name, error: () => shown.replaceWith(name()) }) : name();
    this.node.prepend(shown);
  }

  // send uploads the file, and shows how far that is.
  async send(shelf) {
    if (this.file.size === 0) return this.#fail('This file is empty.', true);
    if (this.#body.size > longest) return this.#fail('This file is larger than 20 MB.', true);
    this.sending = true;
    try {
      this.stored = await shelf.upload(this.#body, this.name, this.key, (part) => { this.#bar.value = part; }, this.#leaving.signal);
    } catch (error) {
      if (!this.#leaving.signal.aborted) this.#fail(error.message, error.status === 413 || error.status === 415);
    }
    this.sending = false;
    this.#bar.hidden = true;
  }

  cancel() {
    this.#leaving.abort();
  }

  #fail(why, refused) {
    this.refused = refused;
    this.node.classList.add('failed');
    this.#bar.hidden = true;
    this.#why.textContent = why;
  }
}

// smaller re-encodes an image as a smaller JPEG. It rejects anything but an image.
async function smaller(file) {
  const bitmap = await createImageBitmap(file);
  const scale = Math.min(1, side / Math.max(bitmap.width, bitmap.height));
  const canvas = el('canvas', { width: Math.round(bitmap.width * scale), height: Math.round(bitmap.height * scale) });
  canvas.getContext('2d').drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new TypeError('not drawn'))), 'image/jpeg', 0.85);
  });
}

function dataURL(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}
