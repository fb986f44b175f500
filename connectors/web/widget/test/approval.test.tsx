// The card of a call that waits for an approval: the remaining time counts down until a decision, and no timer stays.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JSDOM } from 'jsdom';
import { render } from 'preact';
import type { Controller } from '../src/controller';
import { nothing, reduce, type Answer } from '../src/state';

Object.assign(globalThis, { window: {} }); // without channels to other tabs, which would keep the test from ending
const { Offered } = await import('../src/view/approval');

test('an approval counts down', async () => {
  const { window } = new JSDOM('<main></main>', { url: 'https://shop.example', pretendToBeVisual: true });
  Object.assign(globalThis, { window, document: window.document, requestAnimationFrame: window.requestAnimationFrame.bind(window) });
  const main = window.document.querySelector('main')!;
  const ticking = new Map<number, () => void>();
  let made = 0;
  Object.assign(globalThis, { setInterval: (tick: () => void) => (ticking.set(++made, tick), made), clearInterval: (id: number) => ticking.delete(id) });
  let now = 1_000_000;
  Date.now = () => now;
  const settle = () => new Promise((resolve) => { setTimeout(resolve, 200); }); // effects run after a frame
  const draw = async (left: number, off = false) => {
    const state = reduce({ ...nothing, ready: true }, { type: 'ask', question: null, key: 'a', asked: 'hi' });
    const offer = { id: 'q', options: ['Approve', 'Deny'], approval: true, until: now + left, live: true, off };
    render(<Offered controller={{} as Controller} answer={{ ...state.items[0] as Answer, offer }} />, main);
    await settle();
  };
  const pass = async (ms: number) => {
    now += ms;
    for (const tick of ticking.values()) tick();
    await settle();
  };
  const shown = () => [main.querySelector('.expires')?.textContent ?? '', ticking.size, main.querySelector('fieldset')!.disabled];

  for (const [left, text] of [[299_000, '4:59'], [3_899_001, '1:05:00'], [86_400_000, '24:00:00'], [1, '0:01']] as const) {
    render(null, main);
    await draw(left);
    assert.deepEqual(shown(), [`Expires in ${text}`, 1, false]);
  }
  render(null, main);
  await settle();
  assert.equal(ticking.size, 0); // the answer is gone

  await draw(3000);
  await pass(1000);
  assert.deepEqual(shown(), ['Expires in 0:02', 1, false]);
  assert.deepEqual([main.querySelectorAll('[aria-live]').length, main.querySelector('.expires')!.getAttribute('role')], [0, 'timer']); // no screen reader reads each second
  await pass(2000);
  assert.deepEqual(shown(), ['', 0, false]); // the clock can be wrong: the gateway decides

  render(null, main);
  await draw(3000);
  await draw(3000, true);
  assert.deepEqual(shown(), ['', 0, true]);
});
