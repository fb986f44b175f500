// Where the text of an answer is parted, for its calls to stand there. Nothing here knows the page.

import { parse } from './blocks.js';

// part returns where the text above each call ends. places says, in the order of the calls, how many bytes of text (UTF-8)
// were there when each began. Text is never parted within a paragraph, nor within code.
export function part(text, places) {
  const index = indices(text);
  let from = 0;
  return places.map((at) => {
    from = Math.max(from, boundary(text, from, index(at)));
    return from;
  });
}

// indices returns a function from bytes to units of a string. It counts on from where it was before.
function indices(text) {
  let unit = 0;
  let bytes = 0;
  return (at) => {
    if (at < bytes) unit = bytes = 0;
    while (bytes < at && unit < text.length) {
      const point = text.codePointAt(unit);
      unit += point > 0xffff ? 2 : 1;
      bytes += 1 + (point > 0x7f) + (point > 0x7ff) + (point > 0xffff);
    }
    return unit;
  };
}

// boundary is where text can be parted, at or below a place. Above from it is parted already.
function boundary(text, from, at) {
  const end = paragraph(text, at);
  const last = end < text.length && parse(text.slice(from, end).split('\n')).at(-1);
  if (!last?.open) return end;
  const lines = text.slice(from).split('\n');
  const code = parse(lines).find(({ first }) => first === last.first);
  return boundary(text, from, code.open ? text.length : from + lines.slice(0, code.end).join('\n').length);
}

// paragraph is where the one ends that holds a place.
function paragraph(text, at) {
  if (at <= 0 || text.startsWith('\n\n', at - 2)) return Math.max(at, 0);
  const end = text.indexOf('\n\n', at);
  return end < 0 ? text.length : end;
}
