// A model of two tabs of one conversation, with the page's own controller: the gateway is a fake that cuts streams, restarts and is slow, and
// messages between the tabs arrive late, at random. Both tabs end with the conversation as the gateway stores it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Controller } from '../src/controller';
import type { Message } from '../src/frames';

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

const later = globalThis.setTimeout;
const speed = 1000; // of the page's clock
const soon = (ms = 0) => new Promise<void>((resolve) => { later(resolve, ms); });

// Run is an answer that grows. A newer message supersedes it.
interface Run { id: string; text: string; over: '' | 'done' | 'superseded' }

class World {
  messages: Message[] = [];
  runs = new Map<string, Run>();
  channels = new Map<string, Set<Channel>>();
  storage = new Map<string, string>();
  busy = 0; // requests, and messages between tabs, that are on their way
  calm = false; // no more faults
  #streams = new Set<() => void>();

  constructor(readonly roll: (n: number) => number) {}

  cut(): void {
    for (const end of this.#streams) end();
  }

  // post stores a message that no tab has asked for, such as a person's.
  post(): void {
    if (this.messages.length === 0) return; // there is no conversation
    this.messages.push({ id: `p${this.messages.length}`, role: 'assistant', text: `post ${this.messages.length}`, timestamp: 1 });
  }

  grow(): void {
    for (const run of this.runs.values()) if (!run.over) run.text += `${this.roll(10)} `;
  }

  finish(): void {
    for (const [key, run] of this.runs) if (!run.over) this.#end(key, run);
  }

  async fetch(address: string, { method, body, signal }: { method: string; body: string | null; signal: AbortSignal | null }): Promise<Response> {
    this.busy++;
    try {
      await soon(this.roll(3));
      if (signal?.aborted) throw new DOMException('', 'AbortError');
      if (!this.calm && this.roll(6) === 0) throw new TypeError('cut');
      if (address.endsWith('/visitors')) return Response.json({ visitor: { token: 't' } });
      if (address.endsWith('/conversations')) return Response.json({ conversation: { id: 'c' } });
      if (method === 'GET') return Response.json({ messages: structuredClone(this.messages) });
      const { text, clientMessageId: key } = JSON.parse(body!) as { text: string; clientMessageId: string };
      if (!this.runs.has(key)) this.#accept(key, text);
      if (!this.calm && this.roll(6) === 0) throw new TypeError('cut'); // it is accepted, and the tab does not know
      return this.#stream(this.runs.get(key)!, signal);
    } finally {
      this.busy--;
    }
  }

  #accept(key: string, text: string): void {
    for (const run of this.runs.values()) run.over ||= 'superseded';
    this.messages.push({ id: `q${this.messages.length}`, role: 'user', text, timestamp: 1, clientMessageId: key });
    this.runs.set(key, { id: `a${this.runs.size}`, text: '', over: '' });
  }

  #end(key: string, run: Run): void {
    run.text ||= 'nothing';
    run.over = 'done';
    this.messages.push({ id: run.id, role: 'assistant', text: run.text, timestamp: 1, replyToMessageId: this.messages.find(({ clientMessageId }) => clientMessageId === key)!.id });
  }

  #stream(run: Run, signal: AbortSignal | null): Response {
    let open = true;
    const end = () => { open = false; };
    this.#streams.add(end);
    signal?.addEventListener('abort', end);
    const body = new ReadableStream<Uint8Array>({
      start: async (out) => {
        let sent = -1;
        const send = (frame: object) => out.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(frame)}\n\n`));
        send({ type: 'status', kind: 'thinking' });
        while (open) {
          const { over, text, id } = run;
          if (over === 'superseded') send({ type: 'done', noResponseReason: 'superseded' });
          else if (over) send({ type: 'done', fullText: text, messageId: id });
          else if (text.length > sent) send(sent > 0 ? { type: 'token', text: text.slice(sent) } : { type: 'token', fullText: text });
          sent = text.length;
          if (over) break;
          await soon(this.roll(3));
        }
        this.#streams.delete(end);
        try {
          if (open) out.close();
          else out.error(new TypeError('cut'));
        } catch { /* the tab has left */ }
      },
    });
    return new Response(body);
  }
}

// Channel is a BroadcastChannel whose messages take a while.
class Channel extends EventTarget {
  constructor(readonly name: string, readonly world: World) {
    super();
    const all = world.channels.get(name) ?? new Set();
    world.channels.set(name, all.add(this));
  }

  postMessage(data: unknown): void {
    for (const other of this.world.channels.get(this.name)!) {
      if (other === this) continue;
      this.world.busy++;
      void soon(this.world.roll(3)).then(() => {
        this.world.busy--;
        if (this.world.channels.get(this.name)!.has(other)) other.dispatchEvent(new MessageEvent('message', { data }));
      });
    }
  }

  close(): void {
    this.world.channels.get(this.name)!.delete(this);
  }
}

// enter makes the globals of a browser those of a world.
function enter(world: World): void {
  const window = Object.assign(new EventTarget(), { BroadcastChannel: true });
  const localStorage = { getItem: (key: string) => world.storage.get(key) ?? null, setItem: (key: string, value: string) => world.storage.set(key, value), removeItem: (key: string) => world.storage.delete(key) };
  Object.assign(globalThis, {
    window, localStorage, document: Object.assign(new EventTarget(), { hidden: false }), fetch: world.fetch.bind(world), BroadcastChannel: class { constructor(name: string) { return new Channel(name, world); } },
    setTimeout: (run: () => void, ms = 0) => later(run, ms > 40_000 ? ms : ms < 5000 ? ms / speed : ms / speed * 10), // but for the patience with a silent stream; what is asked again and again leaves quiet times
  });
}

function tab(): Controller {
  const controller = new Controller('http://gateway.example/', 'parley');
  controller.start(() => {});
  return controller;
}

// shown is what a tab or the gateway has: questions in order, and the answers with text.
const shown = ({ state: { items } }: Controller) => [items.filter(({ kind }) => kind === 'question').map(({ text }) => text), items.flatMap((item) => (item.kind === 'answer' && item.text && !item.live && !item.note ? [item.text] : []))];
const stored = ({ messages }: World) => [messages.filter(({ role }) => role === 'user').map(({ text }) => text), messages.filter(({ role }) => role !== 'user').map(({ text }) => text)];

test('two tabs end with the truth, after any cuts, restarts, reloads and messages of others', async () => {
  for (let seed = 0; seed < 40; seed++) {
    const roll = random(seed);
    const world = new World(roll);
    enter(world);
    const tabs = [tab(), tab()];
    for (let step = 5 + roll(25), n = 0; step > 0; step--) {
      const which = roll(2);
      switch (roll(8)) {
        case 0: tabs[which]!.send(`question ${n++}`); break;
        case 1: world.cut(); break;
        case 4: world.post(); break;
        case 2: if (roll(3) === 0) world.finish(); break;
        case 3:
          if (roll(3) > 0) break;
          tabs[which]!.destroy();
          tabs[which] = tab();
          break;
        default: world.grow();
      }
      await soon(roll(4));
    }
    world.calm = true;
    let quiet = 0;
    for (let round = 0; round < 2000 && quiet < 5; round++) {
      world.finish();
      await soon(2);
      // The truth arrives at last, and stays: a busy machine lets timers be late.
      const settled = world.busy === 0 && tabs.every((one) => one.state.ready && one.state.busy === 0 && JSON.stringify(shown(one)) === JSON.stringify(stored(world)));
      quiet = settled ? quiet + 1 : 0;
    }
    for (const one of tabs) {
      assert.deepEqual(shown(one), stored(world), `seed ${seed}, tab ${tabs.indexOf(one)}`);
      one.destroy();
    }
  }
});
