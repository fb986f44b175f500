// The files of a call: images, downloads, and players for audio.

import { el, icon } from './dom.js';

// Images come with the stream; nothing is loaded from other sites.
const picture = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+\/=]+$/;
const sound = /^audio\//;
const extension = /\.[^.\s]{1,9}$/;
const saving = 10_000; // ms that a browser can take to start

// Shown renders the current files of one call.
export class Shown {
  #pictures = el('div', { class: 'pictures' });
  #files = el('ul', { class: 'saves', 'aria-label': 'Files' });
  element = el('div', { class: 'shown' }, this.#pictures, this.#files);
  #shelf;
  #all = []; // {file, node}

  // shelf gives access to stored files: at(address) returns a URL if the page can use it, file(address) a Blob; tell shows a message.
  constructor(shelf) {
    this.#shelf = shelf;
  }

  // pictures replaces the images, given as data: URLs.
  pictures(urls) {
    const nodes = urls.filter((src) => picture.test(src)).map((src) => el('img', { src, alt: 'A picture' }));
    this.#pictures.replaceChildren(...nodes);
  }

  // files renders the list of downloads. Existing entries are not replaced, because one may be playing.
  files(list) {
    const before = this.#all;
    this.#all = list.map((file) => {
      const same = before.findIndex(({ file: { name, url } }) => name === file.name && url === file.url);
      return same < 0 ? { file, node: this.#row(file) } : before.splice(same, 1)[0];
    });
    for (const { node } of before) {
      release(node);
      node.remove();
    }
    let at = this.#files.firstChild;
    for (const { node } of this.#all) {
      if (node === at) at = at.nextSibling;
      else this.#files.insertBefore(node, at);
    }
  }

  // clear removes everything.
  clear() {
    this.pictures([]);
    this.files([]);
  }

  #row(file) {
    const name = file.name || 'file';
    const end = extension.exec(name)?.[0] ?? '';
    const label = el('span', { class: 'name', dir: 'auto' }, el('span', {}, name.slice(0, name.length - end.length)), el('span', {}, end));
    const size = readable(file.size);
    const chip = el('button', { type: 'button', class: 'save', title: name, 'aria-label': `Save ${name}, ${size}`, click: () => this.#save(chip, file, name) },
      icon('file'), label, el('span', { class: 'size' }, size), icon('save'));
    return el('li', {}, chip, sound.test(file.type) ? this.#player(file, name) : '');
  }

  #player({ url, type }, name) {
    const src = url.startsWith('data:') ? URL.createObjectURL(decode(url, type)) : this.#shelf.at(url);
    const player = el('audio', { controls: true, preload: 'none', crossorigin: 'anonymous', 'aria-label': name });
    if (src) player.src = src;
    else this.#shelf.file(url).then((blob) => { player.src = URL.createObjectURL(blob.slice(0, blob.size, type)); }).catch(() => {}); // it can still be saved
    return player;
  }

  // save downloads a file without a content type, so that the browser does not open it in the page's origin.
  async #save(chip, file, name) {
    if (chip.ariaBusy) return;
    chip.ariaBusy = 'true';
    try {
      const blob = file.url.startsWith('data:') ? decode(file.url) : await this.#shelf.file(file.url);
      const href = URL.createObjectURL(blob.slice(0, blob.size, 'application/octet-stream'));
      el('a', { href, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(href), saving);
    } catch (error) {
      this.#shelf.tell(error.status === 404 ? `“${name}” is not there any more.` : `“${name}” can’t be loaded right now. Please try again.`);
    } finally {
      chip.ariaBusy = null;
    }
  }
}

// release frees the memory of the players below a node.
export function release(node) {
  for (const { src } of node.querySelectorAll('audio[src^="blob:"]')) URL.revokeObjectURL(src);
}

function decode(url, type) {
  return new Blob([Uint8Array.from(atob(url.slice(url.lastIndexOf(',') + 1)), (c) => c.charCodeAt(0))], { type });
}

// readable formats a number of bytes.
function readable(bytes) {
  if (bytes < 1000) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  const [size, unit] = bytes < 999_500 ? [bytes / 1e3, 'kB'] : [bytes / 1e6, 'MB'];
  return `${size < 9.95 ? size.toFixed(1) : Math.round(size)} ${unit}`;
}
