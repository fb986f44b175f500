// Inline Markdown: emphasis, code, links, <br>. Other HTML is shown as text and images as links, because answers are untrusted.

import { el } from './dom.js';

const deepest = 8;
// Chinese and Japanese punctuation, fullwidth forms of signs and typographic quotes end an address.
const special = /\\([!-/:-@[-`{-~])|`+|!?\[|\*\*|__|~~|[*_]|<(?:https?:\/\/|mailto:)[^\s<>]+>|https?:\/\/[^\s<>"«»‹›\u2018-\u201f\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+|<[bB][rR] *(?:\/ *)?>\n?|<(?:[bB](?:[rR] *(?:\/ *)?)?)?$|\n/;
const link = /!?\[((?:[^[\]\\]|\\.|\[[^[\]]*\])*)\]\(\s*<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s+(?:"[^"]{0,300}"|'[^']{0,300}'))?\s*\)/y;
const unfinished = /!?\[([^[\]]*)(?:\](?:\([^\s()]*)?)?$/y;
const tags = { '**': 'strong', __: 'strong', '*': 'em', _: 'em', '~~': 'del' };

// inline returns the nodes of text. With open, unclosed markup counts as closed at the end.
export function inline(text, open = false, depth = 0, linked = false) {
  const out = document.createDocumentFragment();
  const context = { text, open, depth, linked, unclosed: new Set() };
  const find = new RegExp(special, 'g');
  let written = 0;
  for (let match; (match = find.exec(text));) {
    const span = read(context, match[0], match.index, match[1]);
    if (!span) continue; // plain text
    if (match.index > written) out.append(text.slice(written, match.index));
    out.append(span.node);
    find.lastIndex = written = span.end;
  }
  if (written < text.length) out.append(text.slice(written));
  return out;
}

// read returns the node of the markup at a position and its end, or nothing.
function read(context, mark, at, escaped) {
  if (escaped) return { node: escaped, end: at + 2 };
  if (mark === '\n' || /^<br.*>/i.test(mark)) return { node: el('br'), end: at + mark.length };
  if (/^<(?:b|$)/i.test(mark)) return context.open && { node: '', end: context.text.length }; // it may become <br>
  if (mark[0] === '`') return code(context, mark, at);
  if (mark.endsWith('[')) return reference(context, mark, at);
  if (tags[mark]) return context.depth < deepest && emphasis(context, mark, at);
  return address(context, mark, at);
}

function code({ text, open, unclosed }, mark, at) {
  const from = at + mark.length;
  let end = unclosed.has(mark) ? -1 : text.indexOf(mark, from);
  while (end >= 0 && (text[end + mark.length] === '`' || text[end - 1] === '`')) end = text.indexOf(mark, end + 1);
  if (end < 0) {
    unclosed.add(mark);
    if (!open || from === text.length) return null;
    end = text.length;
  }
  const inner = text.slice(from, end).replaceAll('\n', ' ').replace(/^ (.*\S.*) $/, '$1');
  return { node: el('code', {}, inner), end: end + mark.length };
}

const word = /[\p{L}\p{N}]/u;
const space = /^\s?$/;

function emphasis(context, mark, at) {
  const { text, open, depth, linked, unclosed } = context;
  const from = at + mark.length;
  const before = text[at - 1] ?? '';
  if (space.test(text[from] ?? '') || (mark[0] === '_' && word.test(before))) return null;
  let end = unclosed.has(mark) ? -1 : closing(text, mark, from);
  if (end < 0) {
    unclosed.add(mark);
    if (!open || (mark.length === 1 && word.test(before))) return null;
    end = text.length;
  }
  const inner = inline(text.slice(from, end), open && end === text.length, depth + 1, linked);
  return { node: el(tags[mark], {}, inner), end: end + mark.length };
}

function closing(text, mark, from) {
  for (let end = text.indexOf(mark, from); end >= 0; end = text.indexOf(mark, end + 1)) {
    if (mark.length === 1 && text[end + 1] === mark) {
      end++; // of a double mark
      continue;
    }
    if (end === from || space.test(text[end - 1]) || text[end - 1] === '\\') continue;
    while (mark.length === 2 && text[end + 2] === mark[0]) end++;
    if (mark[0] === '_' && word.test(text[end + mark.length] ?? '')) continue;
    return end;
  }
  return -1;
}

function reference({ text, open, depth, linked }, mark, at) {
  link.lastIndex = unfinished.lastIndex = at;
  const match = link.exec(text);
  if (match) {
    const [whole, label, target] = match;
    const picture = mark[0] === '!';
    const content = picture || depth >= deepest ? label || target : inline(label, false, depth + 1, true);
    return { node: anchor(target, content, linked), end: at + whole.length };
  }
  const begun = open && unfinished.exec(text);
  return begun ? { node: document.createTextNode(begun[1]), end: text.length } : null;
}

function address({ linked }, mark, at) {
  if (mark[0] === '<') return { node: anchor(mark.slice(1, -1), mark.slice(1, -1), linked), end: at + mark.length };
  let end = mark.length;
  while (/[.,:;!?'*_~)\]}]/.test(mark[end - 1])) {
    if (mark[end - 1] === ')' && mark.slice(0, end).split('(').length >= mark.slice(0, end).split(')').length) break;
    end--;
  }
  const target = mark.slice(0, end);
  return { node: anchor(target, target, linked), end: at + end };
}

// anchor returns a link if its target is safe, and otherwise only its text.
function anchor(target, content, linked) {
  const href = linked ? null : harmless(target);
  if (!href) return el('span', {}, content);
  return el('a', { href, target: '_blank', rel: 'noopener noreferrer' }, content);
}

function harmless(target) {
  try {
    const url = new URL(target);
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null;
  } catch {
    return null; // relative to an unknown page
  }
}
