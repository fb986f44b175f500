// Completes Markdown whose end has not arrived: markup that is open at the end is closed, and the beginning of markup is left out.

const word = /[\p{L}\p{N}]/u;

// complete returns a text that reads as the given one will when its markup is closed.
export function complete(text: string): string {
  const { open, end } = fences(text);
  if (open !== null) return text.slice(0, open) + text.slice(open).replace(/\n[ \t]*[`~]{1,2}$/, '\n');
  const begin = Math.max(text.lastIndexOf('\n\n') + 1, end);
  const head = text.slice(0, begin);
  let tail = text.slice(begin);
  tail = tail.replace(/(\S\n) {0,3}(-{1,2}|=+)$/, '$1'); // a heading's line, or a list
  tail = tail.replace(/(^|\n) {0,3}\[(?!\^)[^\]\n]+\]:.*$/, '$1'); // a definition, whose address grows
  tail = tail.replace(/<\/?[a-zA-Z]*$|<[a-zA-Z][^<>\n]*$/, (tag) => (/^<(https?:|mailto:)/i.test(tag) ? tag : ''));
  return head + inlineEnd(tail);
}

// openFence returns where the code begins that is still open, or null.
export const openFence = (text: string): number | null => fences(text).open;

// fences returns that, and where the last code ends that is closed.
function fences(text: string): { open: number | null; end: number } {
  let last = 0;
  let open: { at: number; mark: string } | null = null;
  for (let at = 0; at <= text.length;) {
    const next = text.indexOf('\n', at);
    const end = next < 0 ? text.length : next;
    const line = text.slice(at, end);
    if (open) {
      const shut: string = line.trim();
      if (shut.length >= open.mark.length && shut === open.mark[0]!.repeat(shut.length)) {
        open = null;
        last = end;
      }
    } else {
      const mark = /^[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})/.exec(line)?.[1];
      if (mark) open = { at, mark };
    }
    if (next < 0) break;
    at = end + 1;
  }
  return { open: open?.at ?? null, end: last };
}

// inlineEnd closes what is open at the end of a paragraph.
function inlineEnd(text: string): string {
  const stack: { mark: string; end: number }[] = [];
  for (let i = 0; i < text.length;) {
    const rest = text.slice(i);
    if (/^\\[([]/.test(rest) || rest.startsWith('$$')) { // maths shows when it is whole
      const shut = rest[0] === '$' ? '$$' : rest[1] === '(' ? '\\)' : '\\]';
      const end = text.indexOf(shut, i + 2);
      if (end < 0) return shutAll(text.slice(0, i), stack);
      i = end + 2;
    } else if (text[i] === '\\') {
      i += 2;
    } else if (text[i] === '`') {
      const mark = /^`+/.exec(rest)![0];
      const end = closingTicks(text, i + mark.length, mark);
      if (end < 0) return i + mark.length === text.length ? shutAll(text.slice(0, i), stack) : shutAll(text + (text.endsWith('`') ? ' ' : '') + mark, stack);
      i = end;
    } else if (text[i] === '[') {
      const cut = partialLink(rest);
      if (cut) {
        const start = text[i - 1] === '!' ? i - 1 : i;
        return inlineEnd(text.slice(0, start) + cut.label);
      }
      i++;
    } else {
      const mark = /^(\*\*|__|~~|\*|_)/.exec(rest)?.[0];
      if (mark) emphasis(text, i, mark, stack);
      i += mark?.length ?? 1;
    }
  }
  return shutAll(text, stack);
}

function closingTicks(text: string, from: number, mark: string): number {
  for (let at = text.indexOf(mark, from); at >= 0; at = text.indexOf(mark, at + 1)) {
    if (text[at + mark.length] !== '`' && text[at - 1] !== '`') return at + mark.length;
  }
  return -1;
}

// partialLink returns the label of a link whose address is not there yet.
function partialLink(rest: string): { label: string } | null {
  const match = /^\[([^[\]]*)(?:\](?:\([^\s()]*(?:\([^\s()]*)?)?)?$/.exec(rest);
  if (!match || /^\[[ xX]?\]?$/.test(rest)) return null;
  if (rest.endsWith(']') && !/\]\([^)]*$/.test(rest)) return /^\[\^/.test(rest) ? null : { label: match[1]! };
  return { label: match[1]!.startsWith('^') ? '' : match[1]! };
}

function emphasis(text: string, at: number, mark: string, stack: { mark: string; end: number }[]): void {
  const before = text[at - 1] ?? ' ';
  const after = text[at + mark.length] ?? ' ';
  const known = stack.findLastIndex((open) => open.mark === mark);
  const closes = known >= 0 && !/\s/.test(before) && !(mark[0] === '_' && word.test(after));
  const opens = !(at + mark.length < text.length && /\s/.test(after)) && !(mark[0] === '_' && word.test(before)) && !(mark.length === 1 && mark !== '_' && word.test(before) && !word.test(after));
  if (closes) stack.splice(known);
  else if (opens && !(mark === '*' && /(^|\n)\s*$/.test(text.slice(0, at)) && after === ' ')) stack.push({ mark, end: at + mark.length });
}

function shutAll(text: string, stack: { mark: string; end: number }[]): string {
  let out = text;
  while (stack.length > 0 && stack.at(-1)!.end >= out.trimEnd().length) { // nothing is in it yet
    const { mark, end } = stack.pop()!;
    out = out.slice(0, Math.max(0, end - mark.length));
  }
  if (stack.length === 0) return out;
  const space = /\s*$/.exec(out)![0];
  out = out.slice(0, out.length - space.length);
  while (stack.length > 0) out += stack.pop()!.mark;
  return out;
}
