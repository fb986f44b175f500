// A model of reconnects: an agent's answer as the gateway streams it, cut, repeated and replaced at random, read by readers of several kinds.
// Each of them ends with the truth.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Frame, Message } from '../src/frames';
import { type Answer, nothing, reduce, type State } from '../src/state';

// random returns numbers from 0 to n-1 that depend on the seed alone (mulberry32).
function random(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = state + 0x6d2b79f5 | 0;
    let mixed = Math.imul(state ^ state >>> 15, 1 | state);
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed;
    return ((mixed ^ mixed >>> 14) >>> 0) % n;
  };
}

// Run is an answer as the gateway stores it while it grows.
class Run {
  text = '';
  calls = new Map<string, { at: number; stage: 'start' | 'running' | 'end'; args: string }>();
  done = false;
  life = 0; // how often its work was lost

  constructor(readonly roll: (n: number) => number) {}

  // step changes the answer as an agent does. It can also lose its work, as after a crash of the gateway.
  step(): void {
    const open = [...this.calls.values()].filter(({ stage }) => stage !== 'end');
    const before = open[this.roll(open.length || 1)];
    switch (this.roll(8)) {
      case 0: this.calls.set(`${this.life}.${this.calls.size}`, { at: [...this.text].length, stage: 'start', args: '' }); break;
      case 1: if (before) before.stage = before.stage === 'start' ? 'running' : 'end'; break;
      case 2: if (before?.stage === 'running') before.args += `${this.roll(10)}`; break;
      case 3: if (this.roll(6) === 0) this.lose(); break;
      default: this.text += ['word ', 'שלום ', '🎉', '**bold** ', '\n\n', '`a` '][this.roll(6)];
    }
  }

  lose(): void {
    this.life++;
    this.text = '';
    this.calls.clear();
  }

  end(): void {
    for (const call of this.calls.values()) call.stage = 'end';
    this.done = true;
  }

  // message is the answer in the history.
  message(): Message {
    return { id: 'm', role: 'assistant', text: this.text, timestamp: 1, tools: [...this.calls].map(([callId, { at, args }]) => ({ callId, toolName: callId, at, args, stage: 'end' })) };
  }
}

// Reader is one tab. Its cursor is what the gateway has sent on the present connection.
class Reader {
  state: State = reduce({ ...nothing, ready: true }, { type: 'ask', question: { kind: 'question', key: 'q', text: 'hi', files: [], at: 1 }, key: 'a', asked: 'hi' });
  #sent: { life: number; text: string; calls: Map<string, string> } | null = null; // null: no connection
  #waiting: Frame[] = []; // sent, and not read yet

  constructor(readonly run: Run, readonly roll: (n: number) => number) {}

  // cut ends the connection: frames that are on their way are lost.
  cut(): void {
    this.#sent = null;
    this.#waiting = [];
    this.state = reduce(this.state, { type: 'status', key: 'a', text: 'Reconnecting…' });
  }

  // reload loads the page again, with what the history has.
  reload(): void {
    this.cut();
    const question: Message = { id: '1', role: 'user', text: 'hi', timestamp: 1, clientMessageId: 'q' };
    this.state = reduce({ ...nothing, ready: true }, { type: 'history', messages: this.run.done ? [question, this.run.message()] : [question, { ...this.run.message(), waiting: true }] });
    if (!this.run.done) this.state = reduce(this.state, { type: 'ask', question: null, key: 'a', asked: 'hi' });
  }

  // send puts the difference to the answer on the way, as the gateway's encoder does.
  send(): void {
    const { life, text, calls } = this.run;
    if (this.#sent?.life !== life) { // also on the same connection
      this.#sent = { life, text: '', calls: new Map() };
      this.#waiting.push({ type: 'status', kind: 'thinking' });
    }
    const sent = this.#sent;
    if (text !== sent.text) this.#waiting.push(text.startsWith(sent.text) && sent.text ? { type: 'token', text: text.slice(sent.text.length) } : { type: 'token', fullText: text });
    sent.text = text;
    for (const [callId, { at, stage, args }] of calls) {
      if (sent.calls.get(callId) === stage + args) continue;
      if (!sent.calls.has(callId)) this.#waiting.push({ type: 'tool', callId, toolName: callId, at, stage: 'start' });
      if (stage !== 'start') this.#waiting.push({ type: 'tool', callId, toolName: callId, at, stage, args });
      sent.calls.set(callId, stage + args);
    }
    if (this.run.done) this.#waiting.push({ type: 'done', fullText: text, messageId: 'm' });
  }

  // read takes up to n frames. A slow reader leaves most of them.
  read(n: number): void {
    for (const frame of this.#waiting.splice(0, n)) this.state = reduce(this.state, { type: 'frame', key: 'a', frame });
  }

  get answer(): Answer {
    return this.state.items.findLast((item): item is Answer => item.kind === 'answer')!;
  }

  get shown(): unknown {
    const { text, live, id, calls } = this.answer;
    const known = calls.filter(({ id: call }) => this.run.calls.has(call));
    return { items: this.state.items.length, text, live, id, calls: known.map(({ id: call, at, args, stage }) => ({ call, at, args, stage })) };
  }
}

test('every reader ends with the truth, after any cuts, restarts and reloads', () => {
  for (let seed = 0; seed < 600; seed++) {
    const roll = random(seed);
    const run = new Run(roll);
    const readers = Array.from({ length: 3 }, () => new Reader(run, roll));
    for (let step = roll(60); step >= 0; step--) {
      run.step();
      readers.forEach((reader, slow) => {
        const fate = roll(12);
        if (fate === 0) reader.cut();
        else if (fate === 1) reader.reload();
        else if (fate < 8) reader.send();
        reader.read(slow === 2 ? roll(2) : roll(6));
      });
    }
    const calls = [...run.calls].map(([call, { at, args, stage }]) => ({ call, at, args, stage }));
    for (const reader of readers) { // those that have caught up are exact before the end too, which repeats the text
      reader.send();
      reader.read(Infinity);
      const text = run.text || reader.answer.text; // a lost text stays until another begins
      assert.deepEqual(reader.shown, { items: 2, text, live: true, id: undefined, calls }, `seed ${seed}, not finished`);
    }
    run.end();
    for (const reader of readers) {
      if (roll(3) === 0) reader.cut();
      reader.send();
      reader.read(Infinity);
    }
    const truth = { items: 2, text: run.text, live: false, id: 'm', calls: calls.map((call) => ({ ...call, stage: 'end' })) };
    for (const reader of readers) {
      assert.deepEqual(reader.shown, truth, `seed ${seed}`);
      reader.reload();
      assert.deepEqual(reader.shown, truth, `seed ${seed}, loaded again`);
    }
  }
});
