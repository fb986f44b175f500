// What an answer says, with its calls where they happened: text that grows, and other nodes between its stretches.

import { el } from './dom.js';
import { Markdown } from './markdown.js';
import { part } from './stretches.js';

export class Said {
  element = el('div', { class: 'said' });
  #text = '';
  #added = ''; // to the text, since it was drawn
  #calls = []; // {node, at, above, end, told}, in order
  #last = new Stretch();
  #parted = true; // what is added belongs to the last stretch

  constructor() {
    this.element.append(this.#last.root);
  }

  get text() {
    return this.#text;
  }

  append(text) {
    this.#text += text;
    this.#added += text;
  }

  // begin starts a new stream: calls that are not repeated are removed with the old text.
  begin() {
    for (const call of this.#calls) call.told = false;
  }

  // replace changes the whole text.
  replace(text) {
    for (const call of this.#calls) {
      if (!call.told && !text.startsWith(this.#text.slice(0, call.end))) call.at = 0;
    }
    this.#text = text;
    this.#parted = false;
  }

  // place puts the node of a call below so many bytes of the text, and below the calls before it. It returns whether that
  // is to be drawn.
  place(node, at = 0) {
    let call = this.#calls.find((known) => known.node === node);
    if (call) call.told = true;
    if (call?.at === at) return false;
    if (!call) {
      call = { node, above: this.#last, end: 0, told: true };
      this.#calls.push(call);
      this.#last = new Stretch();
      this.element.append(node, this.#last.root);
    }
    call.at = at;
    this.#parted = false;
    return true;
  }

  // draw updates the page. done means that the text is complete.
  draw(done) {
    if (this.#parted) this.#last.append(this.#added);
    else this.#part();
    this.#added = '';
    for (const { above, node } of this.#calls) {
      above.draw(done);
      if (above.blank) above.root.remove();
      else if (above.root.nextSibling !== node) node.before(above.root);
    }
    this.#last.draw(done);
  }

  #part() {
    const ends = part(this.#text, this.#calls.map(({ at }) => at));
    let from = 0;
    this.#calls.forEach((call, i) => {
      call.above.replace(this.#text.slice(from, ends[i]));
      call.end = from = ends[i];
    });
    this.#last.replace(this.#text.slice(from));
    this.#parted = ends.length === 0 || from < this.#text.length; // what is added may yet belong above a call at the end
  }
}

// Stretch is the text between two calls.
class Stretch {
  root = el('div', { class: 'text' });
  #markdown = new Markdown(this.root);
  #drawn = true;

  get blank() {
    return !this.root.hasChildNodes();
  }

  append(text) {
    if (text === '') return;
    this.#markdown.append(text);
    this.#drawn = false;
  }

  replace(text) {
    if (text === this.#markdown.text) return;
    this.#markdown.replace(text);
    this.#drawn = false;
  }

  draw(done) {
    if (this.#drawn && !done) return;
    this.#markdown.draw(done);
    this.#drawn = true;
  }
}
