// Builds the DOM of Markdown from its tokens. Nothing is parsed as HTML, and nothing is loaded: images are links.

import type { Token, Tokens } from 'marked';
import { copy, el, harmless } from '../dom';
import { icon } from '../icons';
import { load } from '../load';
import { t } from '../strings';
import { decode } from './entities';
import type { Details, Math, Node, Note } from './lex';

type Drawn = HTMLElement | Text | string;

const deepest = 16; // nested quotes, lists and emphasis

// tags are the HTML elements that can be written, without attributes.
const tags = new Set(['b', 'i', 'strong', 'em', 'u', 's', 'del', 'ins', 'kbd', 'sub', 'sup', 'mark', 'small', 'code', 'q', 'cite', 'samp', 'var', 'abbr']);

// block returns the node of a block.
export function block(token: Node, depth = 0): HTMLElement {
  if (depth > deepest) return el('p', {}, token.raw);
  switch (token.type) {
    case 'code': return code(token as Tokens.Code);
    case 'heading': { // below those of the page and of the chat, whose outline they are a part of
      const { depth: level, tokens } = token as Tokens.Heading;
      return el(`h${smaller(6, level + 2)}`, { dir: 'auto', class: `level${level}` }, ...inline(tokens));
    }
    case 'hr': return el('hr');
    case 'blockquote': return el('blockquote', { dir: 'auto' }, ...blocks((token as Tokens.Blockquote).tokens, depth + 1));
    case 'list': return list(token as Tokens.List, depth);
    case 'table': return table(token as Tokens.Table);
    case 'math': return el('div', { class: 'math', dir: 'ltr', tabindex: '0' }, formula(token as Math));
    case 'note': {
      const { label, tokens } = token as Note;
      return el('p', { dir: 'auto', class: 'footnote' }, el('sup', {}, label), ' ', ...inline(tokens ?? []));
    }
    case 'details': {
      const { summary, tokens, open } = token as Details;
      return el('details', { class: 'more', dir: 'auto', open }, el('summary', {}, ...(summary.length > 0 ? inline(summary) : [t('Details')])), ...blocks(tokens, depth + 1));
    }
    case 'html': return el('p', { dir: 'auto' }, ...html(token.raw.trim()));
    default: return el('p', { dir: 'auto' }, ...inline((token as Tokens.Paragraph).tokens ?? [token as Token]));
  }
}

const smaller = (a: number, b: number) => (a < b ? a : b);

export const blocks = (tokens: Node[], depth: number): HTMLElement[] => tokens.filter(({ type }) => type !== 'space' && type !== 'def').map((token) => block(token, depth));

// html is a block of HTML, of which only line breaks and comments are not shown as written.
const html = (raw: string): Drawn[] => raw.split(/<br\s*\/?>/i).flatMap((part, i) => (i > 0 ? [el('br'), part] : [part]));

// inline returns the nodes of inline tokens. linked is inside a link.
export function inline(tokens: Node[], linked = false, depth = 0): Drawn[] {
  const out: Drawn[] = [];
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]!;
    const name = token.type === 'html' ? /^<([a-z]+)\s*(?:\s[^>]*)?>$/i.exec(token.raw)?.[1]?.toLowerCase() : undefined;
    const end = name && tags.has(name) ? closing(tokens, i, name) : -1;
    if (end >= 0 && depth < deepest) {
      out.push(el(name!, {}, ...inline(tokens.slice(i + 1, end), linked, depth + 1)));
      i = end;
    } else out.push(...span(token, linked, depth));
  }
  return out;
}

// closing is where the end tag of the element stands that opens at a token, or -1.
function closing(tokens: Node[], at: number, name: string): number {
  let open = 0;
  for (let i = at; i < tokens.length; i++) {
    const { type, raw } = tokens[i]!;
    if (type !== 'html') continue;
    if (new RegExp(`^<${name}[\\s>]`, 'i').test(raw)) open++;
    else if (new RegExp(`^</${name}\\s*>$`, 'i').test(raw) && --open === 0) return i;
  }
  return -1;
}

function span(token: Node, linked: boolean, depth: number): Drawn[] {
  const inner = () => (depth < deepest ? inline((token as { tokens?: Token[] }).tokens ?? [], linked, depth + 1) : [token.raw]);
  switch (token.type) {
    case 'strong':
    case 'em':
    case 'del': return [el(token.type, {}, ...inner())];
    case 'codespan': return [el('code', {}, (token as Tokens.Codespan).text)];
    case 'br': return [el('br')];
    case 'html': return /^<br\s*\/?>\n?$/i.test(token.raw) ? [el('br')] : [token.raw];
    case 'math': return [el('span', { class: 'math', dir: 'ltr' }, formula(token as Math))];
    case 'note': return [el('sup', { class: 'footnote' }, (token as Note).label)];
    case 'image': return [anchor((token as Tokens.Image).href, [decode((token as Tokens.Image).text) || (token as Tokens.Image).href], linked)];
    case 'link': {
      const content = depth < deepest ? inline((token as Tokens.Link).tokens, true, depth + 1) : [token.raw];
      return [anchor((token as Tokens.Link).href, content, linked)];
    }
    case 'escape': return [(token as Tokens.Escape).text];
    case 'checkbox': return [];
    default: {
      const { tokens, text, escaped } = token as Tokens.Text;
      return tokens ? inline(tokens, linked, depth) : [escaped ? text : written(text ?? token.raw)];
    }
  }
}

// written is a text with its entities. One with rare ones is complete when these are there.
function written(text: string): Text | string {
  let rare = false;
  const now = decode(text, () => {
    rare = true;
    return undefined;
  });
  if (!rare) return now;
  const node = document.createTextNode(now);
  load<typeof import('./characters')>(CHARACTERS).then(({ characters }) => { node.data = decode(text, (name) => characters.get(name)); });
  return node;
}

// anchor returns a link if its target is safe, and otherwise only its text.
function anchor(target: string, content: Drawn[], linked: boolean): HTMLElement {
  const href = linked ? null : harmless(decode(target));
  if (!href) return el('span', {}, ...content);
  return el('a', { href, target: '_blank', rel: 'noopener noreferrer' }, ...content);
}

// formula shows the source until the renderer of maths is there.
function formula({ tex, display }: Math): HTMLElement {
  const node = el('code', {}, tex);
  load<typeof import('./math')>(MATH).then(({ draw }) => node.replaceWith(draw(tex, display)));
  return node;
}

function code({ lang = '', text, raw }: Tokens.Code): HTMLElement {
  const language = /^[^\s`{,]*/.exec(lang)![0];
  const body = el('code', {}, text);
  body.dataset.language = language;
  const button = el('button', { type: 'button', class: 'icon', 'aria-label': t('Copy code'), title: t('Copy code') }, icon('copy'));
  button.addEventListener('click', async () => {
    if (!await copy(body.textContent!)) return;
    button.replaceChildren(icon('done'));
    button.setAttribute('aria-label', t('Copied'));
    setTimeout(() => {
      button.replaceChildren(icon('copy'));
      button.setAttribute('aria-label', t('Copy code'));
    }, 1500);
  });
  const node = el('div', { class: 'code', dir: 'ltr' }, el('div', { class: 'code-head' }, el('span', {}, language || 'text'), button), el('pre', { tabindex: '0' }, body));
  if (language && text && /\n[ \t]*[`~]{3,}[ \t]*\n*$/.test(raw)) colorize(body, language, text);
  return node;
}

// colorize shows plain text until the highlighter is there.
function colorize(body: HTMLElement, language: string, text: string): void {
  load<typeof import('./highlight')>(HIGHLIGHT).then(({ highlight }) => {
    const nodes = body.textContent === text && highlight(text, language, body.getRootNode());
    if (nodes) body.replaceChildren(...nodes);
  });
}

function list({ ordered, start, loose, items }: Tokens.List, depth: number): HTMLElement {
  const node = ordered ? el('ol', { dir: 'auto', start: start === 1 ? null : String(start) }) : el('ul', { dir: 'auto' });
  for (const item of items) {
    const parts = item.tokens.filter(({ type }) => type !== 'space' && type !== 'def' && type !== 'checkbox')
      .flatMap((token): Drawn[] => (token.type === 'text' || (token.type === 'paragraph' && !loose) ? (loose ? [el('p', { dir: 'auto' }, ...inline((token as Tokens.Text).tokens ?? [token]))] : inline((token as Tokens.Text).tokens ?? [token])) : [block(token, depth + 1)]));
    if (item.task) parts.unshift(el('input', { type: 'checkbox', disabled: true, checked: item.checked, 'aria-label': item.text.split('\n')[0]!.replace(/^\[[ xX]\] +/, '') }));
    node.append(el('li', { class: item.task ? 'task' : null }, ...parts));
  }
  return node;
}

const amount = /^[\s\d.,:/%+\-−–€$£¥₹]*\d[\s\d.,:/%+\-−–€$£¥₹]*[\p{L}%]{0,4}$/u; // a number is not broken

function table({ header, align, rows }: Tokens.Table): HTMLElement {
  const row = (tag: 'th' | 'td', cells: Tokens.TableCell[]) => el('tr', {}, ...cells.map((cell, i) => {
    const side = align[i] === 'right' ? 'end' : align[i] === 'center' ? 'center' : '';
    const classes = [side, amount.test(cell.text) && 'amount'].filter(Boolean).join(' ');
    return el(tag, { dir: 'auto', class: classes || null }, ...inline(cell.tokens));
  }));
  return el('div', { class: 'table', tabindex: '0' }, el('table', {}, el('thead', {}, row('th', header)), el('tbody', {}, ...rows.map((cells) => row('td', cells)))));
}
