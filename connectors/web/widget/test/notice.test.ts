// The notification of a long answer: once over all tabs, and not while one of them is seen.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../src/state';

const world = { hidden: true, permission: 'default', shown: [] as string[], kept: new Map<string, string>() };
class Notification {
  static get permission() { return world.permission; }
  static requestPermission = async () => { world.permission = 'granted'; return 'granted'; };
  constructor(title: string, { body }: { body: string }) { world.shown.push(`${title}: ${body}`); }
  addEventListener() { /* is not pressed */ }
}
let queue: Promise<unknown> = Promise.resolve();
const locks = { request: (_: string, use: () => Promise<unknown>) => queue = queue.then(use) };
class Channel extends BroadcastChannel {
  constructor(name: string) {
    super(name);
    (this as unknown as { unref(): void }).unref(); // else the test never ends
  }
}
Object.assign(globalThis, {
  BroadcastChannel: Channel,
  window: globalThis, Notification, document: { get hidden() { return world.hidden; } },
  localStorage: { getItem: (key: string) => world.kept.get(key) ?? null, setItem: (key: string, value: string) => world.kept.set(key, value), removeItem: (key: string) => world.kept.delete(key) },
});
Object.defineProperty(globalThis, 'navigator', { value: { locks }, configurable: true });
const { announce, noticing, opening, setNoticing } = await import('../src/notice');

const answer = (id: string, text: string): Answer => ({ kind: 'answer', id, text, failed: false }) as Answer;
const ended = async (id: string, { tabs = 1, age = 31_000, text = 'It is done. More below.' } = {}): Promise<string[]> => {
  world.shown = [];
  await Promise.all(Array.from({ length: tabs }, () => announce('Ada', answer(id, text), Date.now() - age)));
  return world.shown;
};

test('a long answer is announced once, where the visitor allowed it and does not look', async () => {
  assert.deepEqual([noticing(), await ended('0')], [false, []]);
  await setNoticing(true);
  assert.deepEqual([noticing(), await ended('1', { tabs: 2 })], [true, ['Ada: It is done.']]);
  assert.deepEqual(await ended('1'), []);
  assert.deepEqual(await ended('2', { age: 20_000 }), []);
  assert.deepEqual(await ended('3', { text: '' }), []);
  world.hidden = false;
  assert.deepEqual(await ended('4'), []);
  world.hidden = true;

  const other = new BroadcastChannel('parley-notices');
  other.addEventListener('message', ({ data }) => { if (data === 'seen?') other.postMessage('seen'); });
  assert.deepEqual(await ended('5'), []);
  other.close();
  assert.deepEqual(await ended('6'), ['Ada: It is done.']);

  await setNoticing(false);
  assert.deepEqual([noticing(), await ended('7')], [false, []]);
  world.permission = 'denied';
  Notification.requestPermission = async () => 'denied';
  await setNoticing(true);
  assert.equal(noticing(), false);
});

test('it begins with the first sentence', () => {
  const of = (text: string, want: string) => assert.equal(opening(text), want);
  of('# Result\n\n```go\nfunc main()\n```\n\nI **found** [it](https://a.example/x_y). There is more.', 'I found it.');
  of('1. `One` thing\n2. Another', 'One thing');
  of('| a | b |\n|---|---|\n\nA table', 'A table');
  of('```\nonly code', '');
  of('snake_case stays. So does 3*4', 'snake_case stays.');
  of('完了しました。次です。', '完了しました。');
  assert.equal([...opening('word '.repeat(100))].length, 140);
});
