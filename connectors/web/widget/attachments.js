// Images attached to the next message: picked, dropped or pasted.

import { button, el } from './dom.js';

const types = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
const most = 4; // per message
const longest = 5 << 20; // the gateway's limit, in characters of base64
const side = 2048; // pixels, of an image that has to be reduced

export class Attachments {
  button = button('clip', 'Attach pictures', () => this.#input.click());
  #list = el('ul', { class: 'attached', 'aria-label': 'Pictures to send', hidden: true });
  #input = el('input', { type: 'file', accept: types.join(), multiple: true, hidden: true, change: () => this.#picked() });
  element = el('div', { class: 'attachments' }, this.#list, this.#input);
  #images = [];
  #reading = Promise.resolve();
  #tell;
  #added;

  // tell shows a sentence to the user; added is called after each added image.
  constructor(tell, added) {
    this.#tell = tell;
    this.#added = added;
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

  // paste takes images from the clipboard, unless it also holds text.
  paste(event) {
    const { files, types: kinds } = event.clipboardData;
    if (files.length === 0 || kinds.includes('text/plain')) return;
    event.preventDefault();
    this.add(files);
  }

  // add reads files, one after the other.
  add(files) {
    for (const file of [...files]) this.#reading = this.#reading.then(() => this.#add(file));
  }

  // take empties the list and returns its content, once everything is read.
  async take() {
    await this.#reading;
    const images = this.#images;
    this.restore([]);
    return images;
  }

  // restore replaces the list by images.
  restore(images) {
    this.#images = images;
    this.#show();
  }

  #picked() {
    this.add(this.#input.files);
    this.#input.value = ''; // allows picking the same file again
  }

  async #add(file) {
    if (this.#images.length >= most) return this.#tell(`A message may have ${most} pictures.`);
    try {
      const image = await read(file);
      this.restore([...this.#images, image]);
      this.#tell('');
      this.#added();
    } catch {
      this.#tell(`“${file.name}” can’t be sent: only pictures can (JPEG, PNG, GIF or WebP).`);
    }
  }

  #show() {
    this.#list.hidden = this.#images.length === 0;
    this.#list.replaceChildren(...this.#images.map((image) => {
      const remove = () => {
        this.restore(this.#images.filter((other) => other !== image));
        this.button.focus();
      };
      return el('li', {}, el('img', { src: `data:${image.mimeType};base64,${image.data}`, alt: image.name }),
        button('close', `Remove ${image.name}`, remove, { class: 'icon' }));
    }));
  }
}

// read returns an image in the form that the gateway accepts.
async function read(file) {
  const picture = types.includes(file.type) ? file : await smaller(file);
  let data = await base64(picture);
  let mimeType = picture.type;
  if (data.length > longest) {
    const small = await smaller(file);
    [data, mimeType] = [await base64(small), small.type];
  }
  if (data.length > longest) throw new RangeError('too large');
  return { data, mimeType, name: [...(file.name || 'picture')].slice(0, 255).join('') };
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

function base64(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(',') + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}
