// Where the text of an answer is parted, for its calls to stand there. Nothing here uses the DOM.

import { openFence } from './complete';

// part returns where the text above each call ends. places has, in the order of the calls, how many bytes of text (UTF-8)
// were there when each began. Text is never parted within a paragraph, nor within code.
export function part(text: string, places: number[]): number[] {
  const index = indices(text);
  let from = 0;
  return places.map((at) => {
    from = Math.max(from, boundary(text, from, index(at)));
    return from;
  });
}

// indices returns a function from bytes to units of a string. It continues from its last position.
export function indices(text: string): (at: number) => number {
  let unit = 0;
  let bytes = 0;
  return (at) => {
    if (at < bytes) unit = bytes = 0;
    while (bytes < at && unit < text.length) {
      const point = text.codePointAt(unit)!;
      unit += point > 0xffff ? 2 : 1;
      bytes += point > 0xffff ? 4 : point > 0x7ff ? 3 : point > 0x7f ? 2 : 1;
    }
    return unit;
  };
}

// boundary is where text can be parted, at or below a place. Above from it is parted already.
function boundary(text: string, from: number, at: number): number {
  const end = paragraph(text, at);
  const open = end < text.length ? openFence(text.slice(from, end)) : null;
  if (open === null) return end;
  const mark = /[`~]{3,}/.exec(text.slice(from + open))![0];
  const shut = new RegExp(`\\n[ \\t]*${mark}${mark[0]}*[ \\t]*(?:\\n|$)`, 'g');
  shut.lastIndex = Math.max(from + open, end - 1);
  const found = shut.exec(text);
  return found ? boundary(text, from, found.index + found[0].trimEnd().length) : text.length;
}

// paragraph is where the one ends that holds a place.
function paragraph(text: string, at: number): number {
  if (at <= 0 || text.startsWith('\n\n', at - 2)) return Math.max(at, 0);
  const end = text.indexOf('\n\n', at);
  return end < 0 ? text.length : end;
}
