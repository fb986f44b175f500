// Markdown as tokens: GitHub's flavor by marked, and maths, footnotes and <details>.

import { Lexer, Tokenizer, type MarkedOptions, type Token, type Tokens } from 'marked';

export interface Math { type: 'math'; raw: string; tex: string; display: boolean }
export interface Note { type: 'note'; raw: string; label: string; tokens?: Token[] }
export interface Details { type: 'details'; raw: string; summary: Token[]; tokens: Node[]; open: boolean }
export type Node = Token | Math | Note | Details;
export type Links = Lexer['tokens']['links'];

// Chinese and Japanese punctuation, fullwidth forms of signs and typographic quotes end an address.
const address = /^https?:\/\/[^\s<>"«»‹›\u2018-\u201f\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+/i;

class Addresses extends Tokenizer {
  override url(src: string): Tokens.Link | undefined {
    const found = address.exec(src)?.[0];
    if (!found) return undefined;
    let end = found.length;
    while (/[.,:;!?'*_~)\]}]/.test(found[end - 1]!)) {
      if (found[end - 1] === ')' && found.slice(0, end).split('(').length >= found.slice(0, end).split(')').length) break;
      end--;
    }
    const href = found.slice(0, end);
    return { type: 'link', raw: href, href, text: href, title: null, tokens: [{ type: 'text', raw: href, text: href, escaped: true }] };
  }
}

// Dollars are maths only where nothing else fits: not around amounts of money, and with a sign of maths between them.
const dollars = /^\$(?![\s$])((?:\\.|[^\\$\n])*?)(?<![\s\\])\$(?![\w$])/;
const signs = /[\\^_{}=]|^[A-Za-z]$|^[^\d\s][^\s]*[+<>*/-]/;
const forms: [RegExp, boolean][] = [[/^\$\$((?:\\.|[^\\$]|\$(?!\$))+?)\$\$/, true], [/^\\\[((?:(?!\n\s*\n)[^])+?)\\\]/, true], [/^\\\(((?:(?!\n\s*\n)[^])+?)\\\)/, false]];

export function math(src: string): Math | undefined {
  for (const [form, display] of forms) {
    const [raw, tex] = form.exec(src) ?? [];
    if (raw && tex?.trim()) return { type: 'math', raw, tex: tex.trim(), display };
  }
  const [raw, tex] = dollars.exec(src) ?? [];
  return raw && tex && signs.test(tex) ? { type: 'math', raw, tex, display: false } : undefined;
}

const begins = (src: string): number => src.search(/\$|\\[[(]|\[\^/);

function inline(src: string): Math | Note | undefined {
  const note = /^\[\^([^\]\s]{1,60})\]/.exec(src);
  return note ? { type: 'note', raw: note[0], label: note[1]! } : math(src);
}

// block is maths on lines of its own, or the text of a footnote.
function block(this: { lexer: Lexer }, src: string): Math | Note | undefined {
  const note = /^ {0,3}\[\^([^\]\s]{1,60})\]: ?(.*(?:\n(?: {2,}|\t).*)*)(?:\n|$)/.exec(src);
  if (note) return { type: 'note', raw: note[0], label: note[1]!, tokens: this.lexer.inline(note[2]!.replace(/\n\s+/g, '\n'), []) };
  const lead = /^ {0,3}/.exec(src)![0];
  const found = /^ {0,3}(\$\$|\\\[)/.test(src) ? math(src.slice(lead.length)) : undefined;
  const rest = found && /^[ \t]*(\n|$)/.exec(src.slice(lead.length + found.raw.length));
  return found && rest ? { ...found, raw: lead + found.raw + rest[0] } : undefined;
}

const options = {
  gfm: true,
  breaks: true,
  tokenizer: new Addresses(),
  extensions: {
    renderers: {},
    childTokens: {},
    inline: [inline],
    startInline: [begins],
    block: [block],
    startBlock: [(src: string) => src.search(/\n {0,3}(?:\$\$|\\\[|\[\^[^\]\s]+\]:)/)],
  },
} as unknown as MarkedOptions;

// lex returns the blocks of a text. links are the link definitions known so far; it adds those of the text.
export function lex(text: string, links: Links): Node[] {
  const lexer = new Lexer(options);
  lexer.tokens.links = links;
  try {
    return fold(lexer.lex(text), links);
  } catch { // nested too deeply
    return [{ type: 'paragraph', raw: text, text, tokens: [{ type: 'text', raw: text, text }] }];
  }
}

const opening = /^ {0,3}<details\b[^>]*>/i;

// fold makes <details>, and the blocks until its end, one block.
function fold(tokens: Node[], links: Links): Node[] {
  const out: Node[] = [];
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]!;
    if (token.type !== 'html' || !opening.test(token.raw)) {
      out.push(token);
      continue;
    }
    let raw = token.raw;
    const depth = () => (raw.match(/<details\b/gi)?.length ?? 0) - (raw.match(/<\/details>/gi)?.length ?? 0);
    while (depth() > 0 && i + 1 < tokens.length) raw += tokens[++i]!.raw;
    out.push(details(raw, links));
  }
  return out;
}

function details(raw: string, links: Links): Details {
  const closed = /<\/details>\s*$/i.test(raw);
  const inner = raw.replace(opening, '').replace(/<\/details>\s*$/i, '');
  const summary = /^\s*<summary[^>]*>([^]*?)(?:<\/summary>|$)/i.exec(inner);
  const lexer = new Lexer(options);
  lexer.tokens.links = links;
  const rest = summary ? inner.slice(summary[0].length) : inner;
  return { type: 'details', raw, open: !closed, summary: lexer.inlineTokens(summary?.[1]?.trim() ?? ''), tokens: lex(rest.replace(/^\n+/, ''), links) };
}
