// On a gateway that nobody owns yet: the code with which whoever reads it here becomes the owner. Only browsers on the
// gateway's own machine are told it.

import { copyButton, el } from './dom.js';

const address = new URL('local/owner', import.meta.url);
const chat = document.querySelector('parley-chat');
let note;

async function code() {
  try {
    const response = await fetch(address, { cache: 'no-store' });
    return response.status === 200 ? (await response.json()).code : '';
  } catch {
    return '';
  }
}

async function look() {
  const current = await code();
  note?.remove();
  note = current && el('aside', { class: 'owner' },
    el('p', {}, 'Nobody owns this gateway yet. Send one of its bots this code in a direct chat, and you are the owner:'),
    el('span', {}, el('code', {}, current), copyButton('Copy the code', () => current)));
  if (note) chat.append(note);
}

await look();
if (note) addEventListener('focus', look); // coming back from the bot
