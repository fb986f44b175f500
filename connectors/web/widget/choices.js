// The options of a question, and how typed text selects one.

import { el } from './dom.js';

// chips returns one button per option. choose is called with the index of the pressed one.
export function chips(options, choose) {
  return el('fieldset', { class: 'chips', 'aria-label': 'Choose' },
    ...options.map((option, i) => el('button', { type: 'button', class: 'chip', dir: 'auto', click: () => choose(i) }, option)));
}

// named returns the index of the option whose label or number is text, by the gateway's rules, or -1.
export function named(options, text) {
  const plain = (words) => words.trim().toLowerCase();
  const same = options.findIndex((option) => plain(option) === plain(text));
  if (same >= 0) return same;
  const number = /^\s*(\d{1,2})[.)]*\s*$/.exec(text)?.[1];
  return number >= 1 && number <= options.length ? number - 1 : -1;
}
