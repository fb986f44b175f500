// What a call shows below the text: pictures, and files for saving. What can be heard has a player.

import { el, icon } from './dom.js';

// Pictures come with the stream; nothing is loaded from elsewhere.
const picture = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+\/=]+$/;
const sound = /^audio\//;
const extension = /\.[^.\s]{1,9}$/;
const saving = 10_000; // ms that a browser may take to begin

// Shown is what one call shows now.
export class Shown {
  #pictures = el('div', { class: 'pictures' });
  #files = el('ul', { class: 'saves', 'aria-label': 'Files' });
  element = el('div', { class: 'shown' }, this.#pictures, this.#files);
  #shelf;
  #all = []; // {file, node}

  // shelf has what is not in a stream: at(address) is a whole address, file(address) what is there, as a Blob; tell says a sentence.
  constructor(shelf) {
    this.#shelf = shelf;
  }

  // pictures makes data: URLs what is seen.
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

  // clear shows nothing any more.
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
    return el('audio', { src, controls: true, preload: 'none', crossorigin: 'anonymous', 'aria-label': name });
  }

  // save gives a file to the browser to keep, as bytes of no kind: it is not to open them here (SE-06).
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

// release lets go of what players below a node hold.
export function release(node) {
  for (const { src } of node.querySelectorAll('audio[src^="blob:"]')) URL.revokeObjectURL(src);
}

function decode(url, type) {
  return new Blob([Uint8Array.from(atob(url.slice(url.lastIndexOf(',') + 1)), (c) => c.charCodeAt(0))], { type });
}

// readable is a number of bytes, for people.
function readable(bytes) {
  if (bytes < 1000) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  const [size, unit] = bytes < 999_500 ? [bytes / 1e3, 'kB'] : [bytes / 1e6, 'MB'];
  return `${size < 9.95 ? size.toFixed(1) : Math.round(size)} ${unit}`;
}
