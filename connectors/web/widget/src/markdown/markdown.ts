// Draws Markdown that grows: only the last block is parsed and drawn again. It is loaded with the first answer, as a bundle of its own.

import { complete } from './complete';
import { lex, type Links, type Node } from './lex';
import { block } from './render';

interface Drawn { raw: string; node: HTMLElement }

export class Markdown {
  #root: HTMLElement;
  #text = '';
  #done = false;
  #closed: { end: number; node: HTMLElement }[] = []; // blocks that further text can't change
  #open: Drawn[] = [];
  #links: Links = Object.create(null);
  #defined = '{}'; // the definitions that the drawn text has used

  constructor(root: HTMLElement) {
    this.#root = root;
  }

  // update shows a text. done means that it is complete.
  update(raw: string, done: boolean): void {
    const text = raw.includes('\r') ? raw.replace(/\r\n?/g, '\n') : raw;
    if (text === this.#text && done === this.#done) return;
    if (!text.startsWith(this.#text) || (this.#done && !done)) this.#rewind(text);
    this.#text = text;
    this.#done = done;
    let tokens = this.#parse();
    const defined = JSON.stringify(this.#links);
    if (defined !== this.#defined) { // text above may use a definition
      for (const { node } of [...this.#closed.splice(0), ...this.#open.splice(0)]) node.remove();
      this.#defined = defined;
      tokens = this.#parse();
    }
    this.#draw(tokens);
  }

  // rewind keeps the blocks above the first difference.
  #rewind(text: string): void {
    let same = 0;
    while (same < text.length && same < this.#text.length && text[same] === this.#text[same]) same++;
    let keep = this.#closed.filter(({ end }) => end <= same).length;
    if (same < this.#text.length) keep = Math.max(0, keep - 1); // the text after a block determines its end
    if (Object.keys(this.#links).length > 0) keep = 0;
    this.#links = Object.create(null);
    for (const { node } of this.#closed.splice(keep)) node.remove();
  }

  #parse(): Node[] {
    const tail = this.#text.slice(this.#closed.at(-1)?.end ?? 0);
    return lex(this.#done ? tail : complete(tail), this.#links);
  }

  #draw(tokens: Node[]): void {
    const settled = this.#done ? tokens.length : sure(tokens);
    const before = this.#open;
    this.#open = [];
    let end = this.#closed.at(-1)?.end ?? 0;
    let i = 0;
    tokens.forEach((token, n) => {
      end += token.raw.length;
      if (token.type === 'space' || token.type === 'def') {
        const last = this.#closed.at(-1);
        if (last && n < settled) last.end = Math.min(end, this.#text.length);
        return;
      }
      const old = before[i++];
      const node = old?.raw === token.raw ? old.node : grown(old, token) ?? block(token);
      if (node !== old?.node) {
        if (old) old.node.replaceWith(node);
        else this.#root.append(node);
      }
      if (n < settled) this.#closed.push({ end: Math.min(end, this.#text.length), node });
      else this.#open.push({ raw: token.raw, node });
    });
    for (const { node } of before.slice(i)) node.remove();
  }
}

// sure counts the tokens that further text can't change: those before the last block, or before the last two if the last is only
// the start of a line, which can still become part of the previous block.
function sure(tokens: Node[]): number {
  const drawn = tokens.flatMap(({ type }, i) => (type === 'space' ? [] : [i]));
  const last = drawn.at(-1);
  if (last === undefined) return 0;
  const start = last === tokens.length - 1 && !tokens[last]!.raw.includes('\n');
  return drawn.at(start ? -2 : -1) ?? 0;
}

// grown appends to code that has become longer, so that its scroll position and selection stay.
function grown(old: Drawn | undefined, token: Node): HTMLElement | null {
  if (token.type !== 'code' || !old?.node.matches('.code') || /\n[ \t]*[`~]{3,}[ \t]*\n*$/.test(token.raw)) return null;
  const code = old.node.querySelector('code')!;
  const text = code.firstChild as Text | null;
  const now = (token as { text: string }).text;
  const lang = (token as { lang?: string }).lang ?? '';
  if (!text || code.childElementCount > 0 || code.dataset.language !== /^[^\s`{,]*/.exec(lang)![0] || !now.startsWith(text.data)) return null;
  text.appendData(now.slice(text.length));
  return old.node;
}
