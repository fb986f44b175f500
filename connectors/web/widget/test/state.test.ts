// The state is a pure reduction of frames.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Events } from '../src/api';
import { named } from '../src/controller';
import type { Frame, Message } from '../src/frames';
import { type Answer, nothing, reduce, type State } from '../src/state';

const asked = (): State => reduce({ ...nothing, ready: true }, { type: 'ask', question: { kind: 'question', key: 'q', text: 'hi', files: [], at: 1 }, key: 'a', asked: 'hi' });
const after = (...frames: Frame[]): Answer => frames.reduce((state, frame) => reduce(state, { type: 'frame', key: 'a', frame }), asked()).items[1] as Answer;
const thinking: Frame = { type: 'status', kind: 'thinking' };

test('text grows, is replaced, and ends', () => {
  const answer = after(thinking, { type: 'token', text: 'one ' }, { type: 'token', fullText: 'two' }, { type: 'done', fullText: 'two', messageId: 'm' });
  assert.deepEqual([answer.text, answer.live, answer.id, answer.status], ['two', false, 'm', '']);
});

test('calls of a lost stream go above the new text, and others stay', () => {
  const call = (callId: string, at: number): Frame => ({ type: 'tool', callId, toolName: 'T', stage: 'start', at });
  const answer = after(thinking, { type: 'token', text: 'before' }, call('1', 6), thinking, { type: 'token', fullText: 'another' });
  assert.deepEqual(answer.calls.map(({ at }) => at), [0]);
  const same = after(thinking, { type: 'token', text: 'before' }, call('1', 6), thinking, call('1', 6), { type: 'token', fullText: 'before and after' });
  assert.deepEqual(same.calls.map(({ at }) => at), [6]);
});

test('an end closes calls and says why', () => {
  const answer = after({ type: 'tool', callId: '1', toolName: 'T', stage: 'running', files: [{ type: 'text/plain', size: 1, url: 'x' }] }, { type: 'done', noResponseReason: 'superseded' });
  assert.deepEqual([answer.calls[0]!.state, answer.calls[0]!.files.length, answer.note], ['not finished', 0, 'Your newer message is being answered instead.']);
  assert.equal(after({ type: 'done', fullText: 'half\n\n_(Stopped.)_', interrupted: true }).note, 'Stopped.');
  assert.equal(after({ type: 'done', noResponseReason: 'limited', reason: 'Tomorrow again.' }).note, 'Tomorrow again.');
});

test('words that were a choice have no answer of their own', () => {
  const done = (kind?: string): Frame => ({ type: 'done', noResponseReason: 'ignored', ...(kind && { kind }) });
  assert.deepEqual([after(done('chosen')).hidden, after(done()).hidden], [true, false]);
});

test('events change nothing that they are not about, and never the state itself', () => {
  const frozen = Object.freeze({ ...asked(), items: Object.freeze(asked().items) as unknown as State['items'] });
  const next = reduce(frozen, { type: 'frame', key: 'a', frame: { type: 'token', text: 'x' } });
  assert.equal(next.items[0], frozen.items[0]);
  assert.notEqual(next.items[1], frozen.items[1]);
});

test('a form keeps why its values were refused when the stream starts again, and another form has none of it', () => {
  const offer = (id: string): Frame => ({ type: 'status', kind: 'choices', choices: { id, options: ['No'] } });
  const frame = (state: State, frame: Frame) => reduce(state, { type: 'frame', key: 'a', frame });
  const refused = reduce(frame(asked(), thinking), { type: 'offer', key: 'a', offer: null, wrong: { form: { day: 'late' } } }); // before the form is shown again
  const again = frame(frame(frame(refused, offer('form')), thinking), offer('form'));
  const wrong = (state: State) => { const { offer, wrong } = state.items[1] as Answer; return wrong?.[offer!.id]; };
  assert.deepEqual([wrong(again), wrong(frame(again, offer('other')))], [{ day: 'late' }, undefined]);
});

test('a history keeps the keys of what is shown, and shared answers once', () => {
  const message = (id: string, role: 'user' | 'assistant', more: Partial<Message> = {}): Message => ({ id, role, text: id, timestamp: 1, ...more });
  const live = reduce(asked(), { type: 'frame', key: 'a', frame: { type: 'done', fullText: 'yes', messageId: 'm' } });
  const state = reduce(live, { type: 'history', messages: [message('1', 'user', { clientMessageId: 'q' }), message('m', 'assistant'), message('2', 'user'), message('m', 'assistant'), message('w', 'assistant', { waiting: true })] });
  assert.deepEqual(state.items.map(({ key }) => key), ['q', '2', 'a']);
});

test('a history keeps the end of an answer without a message, unless it has the answer now', () => {
  const ended = (noResponseReason: string) => reduce(reduce(nothing, { type: 'ask', question: null, key: 'q/answer', asked: 'hi' }), { type: 'frame', key: 'q/answer', frame: { type: 'done', noResponseReason } });
  const question: Message = { id: '1', role: 'user', text: 'hi', timestamp: 1, clientMessageId: 'q' };
  const other = (replyToMessageId?: string): Message => ({ id: '2', role: 'assistant', text: 'news', timestamp: 1, ...(replyToMessageId && { replyToMessageId }) });
  const after = (state: State, last: Message) => reduce(state, { type: 'history', messages: [question, last] }).items.slice(1).map((item) => (item as Answer).note || item.text || (item as Answer).hidden);
  assert.deepEqual(after(ended('ignored'), other()), ['No reply was needed.', 'news']);
  assert.deepEqual(after(reduce(ended('stopped'), { type: 'history', messages: [question] }), other()), ['Stopped.', 'news']);
  assert.deepEqual(after(ended('ignored'), other('1')), ['news']);
});

test('an edit hides what has answered the message, until a person has it', () => {
  const history: Message[] = [{ id: '1', role: 'user', text: 'hi', timestamp: 1 }, { id: '2', role: 'assistant', text: 'Ada: yes', timestamp: 1 }];
  const edited = reduce(reduce(nothing, { type: 'history', messages: history }), { type: 'again', key: '1', text: 'ho' });
  const ended = (noResponseReason: string) => reduce(reduce(edited, { type: 'ask', question: null, key: 'a', asked: 'ho' }), { type: 'frame', key: 'a', frame: { type: 'done', noResponseReason } });
  const shown = ({ items }: State) => items.flatMap((item) => (item.kind === 'answer' && item.hidden ? [] : [item.text]));
  assert.deepEqual([edited, ended('relayed'), ended('ignored')].map(shown), [['ho'], ['ho', 'Ada: yes'], ['ho', '']]);
  const last = reduce(edited, { type: 'history', messages: history }).items[1] as Answer;
  assert.deepEqual([last.hidden, last.fresh], [false, false]);
});

test('a history changes texts, and keeps the reasoning of those that are the same', () => {
  const live = reduce(reduce(asked(), { type: 'frame', key: 'a', frame: { type: 'reasoning', text: 'hm' } }), { type: 'frame', key: 'a', frame: { type: 'done', fullText: 'yes', messageId: 'm' } });
  const after = (text: string) => reduce(live, { type: 'history', messages: [{ id: 'm', role: 'assistant', text, timestamp: 1, feedback: { rating: 'up' } }] }).items[0] as Answer;
  assert.deepEqual([after('yes'), after('no')].map(({ key, text, reasoning, rating }) => [key, text, reasoning, rating]), [['a', 'yes', 'hm', 'up'], ['a', 'no', '', 'up']]);
});

test('options are chosen by their words or numbers', () => {
  assert.deepEqual(['2.', ' hot ', '1', '9', ''].map((text) => named(['Hot', '1', 'Cold'], text)), [1, 0, 1, -1, -1]);
});

test('events of a stream are found in any pieces', () => {
  const events = new Events();
  assert.deepEqual([...': alive\n\nid: 1\ndata: {"a"\ndata: :1}\r\n\r\ndata:x\n\n'].flatMap((c) => events.push(c)), ['{"a"\n:1}', 'x']);
});
