// A form of the page: labels, kinds of input, what is sent, why it is refused, and what a reload keeps.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JSDOM } from 'jsdom';
import { render } from 'preact';
import type { Controller } from '../src/controller';
import type { Field } from '../src/frames';
import { nothing, reduce, type Answer } from '../src/state';

Object.assign(globalThis, { window: {} }); // without channels to other tabs, which would keep the test from ending
const { Form } = await import('../src/view/form');

const fields: Field[] = [
  { name: 'guests', title: 'Guests', kind: 'integer', min: 1, max: 8 },
  { name: 'day', title: 'Day', kind: 'date' },
  { name: 'room', title: 'Where', kind: 'choice', options: ['Inside', 'Garden'] },
  { name: 'extras', title: 'Extras', kind: 'choices', options: ['Candles', 'High chair', 'Dog'], optional: true },
  { name: '__proto__', title: 'Anything else', kind: 'text', optional: true, max: 100 },
];

const asked = (wrong?: Record<string, string>): Answer => {
  const state = reduce({ ...nothing, ready: true }, { type: 'ask', question: null, key: 'a', asked: 'hi' });
  const offer = { id: 'q', options: ['Inside', 'No'], fields, live: true, off: false };
  return reduce(state, { type: 'offer', key: 'a', offer, wrong: wrong && { q: wrong } }).items[0] as Answer;
};

test('a form asks for all fields at once', async () => {
  const { window } = new JSDOM('<main></main>', { url: 'https://shop.example', pretendToBeVisual: true });
  const { document } = window;
  Object.assign(globalThis, { window, document, sessionStorage: window.sessionStorage, FormData: window.FormData, requestAnimationFrame: window.requestAnimationFrame.bind(window) });
  const main = document.querySelector('main')!;
  const sent: unknown[] = [];
  const controller = { choose: (_: Answer, ...rest: unknown[]) => sent.push(rest) } as unknown as Controller;
  const draw = async (answer: Answer) => {
    render(<Form controller={controller} answer={answer} />, main);
    await new Promise((resolve) => { setTimeout(resolve, 200); }); // effects run after a frame
  };
  const input = (label: string) => {
    const found = [...main.querySelectorAll('label')].find((one) => one.textContent!.trim().startsWith(label))!;
    return (document.getElementById(found.htmlFor) ?? found.querySelector('input')) as HTMLInputElement;
  };
  const enter = (label: string, value: string) => {
    input(label).value = value;
    input(label).dispatchEvent(new window.Event('input', { bubbles: true }));
  };

  await draw(asked());
  assert.deepEqual(['Guests', 'Day', 'Where', 'Anything'].map((label) => [input(label).type, input(label).required]), [['number', true], ['date', true], ['select-one', true], ['textarea', false]]);
  assert.deepEqual([...main.querySelectorAll('.required')].length, 3);
  assert.equal(main.querySelector('legend')!.textContent, 'Extras');
  enter('Guests', '3');
  enter('Day', '2026-12-24');
  enter('Where', 'Garden');
  input('Candles').checked = input('Dog').checked = true;
  enter('Anything', 'By the <b>window</b>');

  render(null, main); // a reload
  await draw(asked());
  const values = ['3', '2026-12-24', 'Garden', 'Candles, Dog', 'By the <b>window</b>'];
  const submit = () => main.querySelector('form')!.dispatchEvent(new window.Event('submit', { cancelable: true }));
  submit();
  await new Promise((resolve) => { setTimeout(resolve); }); // files would be uploaded first
  assert.deepEqual(sent, [[1, true, values, {}]]);

  await draw(asked({ day: 'please write a date, such as 2026-12-31.' }));
  const why = document.getElementById(input('Day').getAttribute('aria-describedby')!)!;
  assert.deepEqual([document.activeElement === input('Day'), why.textContent, why.hidden], [true, 'please write a date, such as 2026-12-31.', false]);
  assert.equal(input('Guests').getAttribute('aria-invalid'), null);
  assert.equal(input('Where').value, 'Garden');
  ([...main.querySelectorAll('button')].at(-1) as HTMLButtonElement).click();
  assert.deepEqual(sent[1], [1]);

  render(null, main);
  await draw({ ...asked(), offer: { ...asked().offer!, id: 'another' } });
  assert.equal(input('Guests').value, '');

  render(null, main);
  window.sessionStorage.setItem('parley-form', '["files",[[]],[[{"key":"f1","name":"a.pdf"}]]]');
  await draw({ ...asked(), offer: { ...asked().offer!, id: 'files', fields: [{ name: '__proto__', title: 'Receipt', kind: 'file' }] } });
  submit();
  await new Promise((resolve) => { setTimeout(resolve, 50); });
  assert.equal(JSON.stringify(sent[2]), '[1,true,[""],{"__proto__":["f1"]}]');
});
