// What people may choose from, and what they mean by what they write.

import { el } from './dom.js';

// chips are buttons, one for each option. choose is called with the number of the one that is pressed, from 0.
export function chips(options, choose) {
  return el('fieldset', { class: 'chips', 'aria-label': 'Choose' },
    ...options.map((option, i) => el('button', { type: 'button', class: 'chip', dir: 'auto', click: () => choose(i) }, option)));
}

// named finds the option that a text is, or is the number of, as the gateway does; -1 if it is none.
export function named(options, text) {
  const plain = (words) => words.trim().toLowerCase();
  const same = options.findIndex((option) => plain(option) === plain(text));
  if (same >= 0) return same;
  const number = /^\s*(\d{1,2})[.)]*\s*$/.exec(text)?.[1];
  return number >= 1 && number <= options.length ? number - 1 : -1;
}
