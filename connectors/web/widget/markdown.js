// Renders growing Markdown: text comes in pieces, and only the last block is redrawn.

import { parse } from './blocks.js';
import { el, copyButton } from './dom.js';
import { inline } from './inline.js';

const deepest = 8; // nested quotes and lists

export class Markdown {
  #root;
  #all = ''; // the whole text
  #tail = ''; // the part in open blocks
  #closed = []; // {end, node}: blocks that further text can't change
  #open = []; // {block, node}

  constructor(root) {
    this.#root = root;
  }

  get text() {
    return this.#all;
  }

  append(text) {
    this.#all += text;
    this.#tail += text;
  }

  // replace changes the whole text. Blocks above the first difference are kept.
  replace(text) {
    let same = 0;
    while (same < text.length && same < this.#all.length && text[same] === this.#all[same]) same++;
    let keep = this.#closed.filter((block) => block.end <= same).length;
    if (same < this.#all.length) keep = Math.max(0, keep - 1); // the text after a block determines its end
    for (const { node } of this.#closed.splice(keep)) node.remove();
    this.#all = text;
    this.#tail = text.slice(this.#closed.at(-1)?.end ?? 0);
  }

  // draw updates the page. done means that the text is complete.
  draw(done) {
    const lines = this.#tail.split('\n');
    const blocks = parse(lines);
    const settled = done ? blocks.length : sure(blocks, lines);
    const before = this.#open;
    this.#open = [];
    const begin = this.#all.length - this.#tail.length;
    let line = 0;
    let used = 0; // of the tail, by closed blocks
    blocks.forEach((block, i) => {
      const node = redraw(before[i], block, !done && i === blocks.length - 1);
      if (node !== before[i]?.node) {
        before[i]?.node.remove();
        this.#root.insertBefore(node, before[i + 1]?.node ?? null);
      }
      if (i >= settled) {
        this.#open.push({ block, node });
        return;
      }
      for (; line < block.end; line++) used += lines[line].length + 1;
      used = Math.min(used, this.#tail.length); // the last line has no newline
      this.#closed.push({ end: begin + used, node });
    });
    for (const { node } of before.slice(blocks.length)) node.remove();
    this.#tail = this.#tail.slice(used);
  }
}

// sure counts the blocks that further text can't change: all but the last, or all but the last two if the last is only the
// start of a line, because that line can still become part of the previous block.
function sure(blocks, lines) {
  const last = blocks.at(-1);
  if (!last) return 0;
  return Math.max(0, blocks.length - (last.first === lines.length - 1 ? 2 : 1));
}

// redraw renders a block, or only appends to a growing code block.
function redraw(before, block, open) {
  if (before?.block.kind !== 'code' || block.kind !== 'code' || before.block.language !== block.language) {
    return draw(block, open, 0);
  }
  const text = before.node.querySelector('code').firstChild;
  if (block.text.startsWith(text.data)) text.appendData(block.text.slice(text.length));
  else text.data = block.text;
  return before.node;
}

function draw(block, open, depth) {
  switch (block.kind) {
    case 'code': return drawCode(block);
    // An answer's headings are below those of the page and of the chat, whose outline they are a part of.
    case 'heading': return line(`h${Math.min(6, block.level + 2)}`, block.text, open, { class: `level${block.level}` });
    case 'rule': return el('hr');
    case 'quote': return el('blockquote', { dir: 'auto' }, ...within(block.lines, open, depth));
    case 'list': return drawList(block, open, depth);
    case 'table': return drawTable(block, open);
    default: return line('p', block.text, open);
  }
}

function line(tag, text, open, attributes = {}) {
  return el(tag, { dir: 'auto', ...attributes }, inline(text, open));
}

function within(lines, open, depth) {
  if (depth >= deepest) return [line('p', lines.join('\n'), open)];
  const blocks = parse(lines);
  return blocks.map((block, i) => draw(block, open && i === blocks.length - 1, depth + 1));
}

function drawCode({ language, text }) {
  const code = el('code', {}, document.createTextNode(text));
  const head = el('div', { class: 'code-head' }, el('span', {}, language || 'text'), copyButton('Copy code', () => code.textContent));
  return el('div', { class: 'code', dir: 'ltr' }, head, el('pre', { tabindex: '0' }, code));
}

function drawList({ ordered, start, loose, items }, open, depth) {
  const list = ordered ? el('ol', { start: start === 1 ? null : start }) : el('ul');
  items.forEach((lines, i) => {
    const task = /^\[([ xX])\] +/.exec(lines[0]);
    const rest = task ? [lines[0].slice(task[0].length), ...lines.slice(1)] : lines;
    const parts = within(rest, open && i === items.length - 1, depth);
    if (!loose && parts[0]?.localName === 'p') parts.splice(0, 1, ...parts[0].childNodes);
    if (task) parts.unshift(el('input', { type: 'checkbox', disabled: true, checked: task[1] !== ' ', 'aria-label': rest[0] }));
    list.append(el('li', { dir: 'auto', class: task && 'task' }, ...parts));
  });
  return list;
}

function drawTable({ head, align, rows }, open) {
  const row = (tag, cells) => el('tr', {}, ...align.map((side, i) => line(tag, cells[i] ?? '', open, { class: side })));
  return el('div', { class: 'table', tabindex: '0' }, el('table', {},
    el('thead', {}, row('th', head)), el('tbody', {}, ...rows.map((cells) => row('td', cells)))));
}
