// What the page shows: a pure reduction of the frames and messages that the gateway has sent, and of what the visitor has done.

import type { Choices, DoneFrame, Frame, Message, Rating, StoredFile, ToolFrame } from './frames';
import { indices } from './markdown/split';
import { t } from './strings';

export type SentFile = Partial<StoredFile> & { preview?: string | null };

export interface Question { kind: 'question'; key: string; id?: string | undefined; text: string; files: SentFile[]; at: number }

export type Stage = 'start' | 'streaming' | 'running' | 'end' | 'failed';

export interface Call {
  id: string; at: number; told: boolean; stage: Stage; name: string; label: string; line: string; state: string; args: string; chunks: string;
  result: string; error: string; images: string[]; files: StoredFile[];
}

export interface Offer extends Choices { live: boolean; off: boolean }

// Wrong are the reasons why the values of a form were refused, by the id of the form and the names of the fields. A form can be shown again later.
export type Wrong = Record<string, Record<string, string> | undefined> | undefined;

export interface Answer {
  kind: 'answer'; key: string; id?: string | undefined; asked: string; text: string; live: boolean; hidden: boolean; status: string; reasoning: string; trail: string[]; calls: Call[];
  offer: Offer | null; wrong?: Wrong; failed: boolean; note: string; at: number; rating: Rating;
  unable?: boolean; // the agent failed, or a limit is reached
  choice?: boolean | undefined; // it is of a choice: then no line says that none was needed
  fresh?: boolean; // it has arrived whole, while the page was open
  unasked?: boolean; // it answers no message
  person?: string | undefined; // who wrote it, instead of the agent
}

export type Item = Question | Answer;

export interface Notice { text: string; until?: number | undefined }

export interface State { items: Item[]; ready: boolean; busy: number; notice: Notice }

export const nothing: State = { items: [], ready: false, busy: 0, notice: { text: '' } };

export type Event =
  | { type: 'clear' }
  | { type: 'history'; messages: Message[] }
  | { type: 'ask'; question: Question | null; key: string; asked: string; before?: string | undefined; choice?: boolean }
  | { type: 'again'; key: string; text: string }
  | { type: 'frame'; key: string; frame: Frame }
  | { type: 'status'; key: string; text: string }
  | { type: 'stopped'; key: string }
  | { type: 'drop'; keys: string[] }
  | { type: 'reveal'; key: string }
  | { type: 'unread'; key: string; files: StoredFile[] }
  | { type: 'offer'; key: string; offer: Offer | null; wrong?: Wrong }
  | { type: 'rate'; id: string; rating: Rating }
  | { type: 'notice'; notice: Notice }
  | { type: 'busy'; busy: number };

export function reduce(state: State, event: Event): State {
  const change = (key: string, edit: (answer: Answer) => Answer) => ({ ...state, items: state.items.map((item) => (item.kind === 'answer' && item.key === key ? edit(item) : item)) });
  switch (event.type) {
    case 'clear': return { ...nothing, busy: state.busy };
    case 'history': return { ...state, ready: true, items: recalled(state.items, event.messages) };
    case 'ask': return { ...state, items: asked(state.items, event) };
    case 'again': {
      const at = state.items.findIndex(({ key }) => key === event.key);
      const question = state.items[at];
      // What answers it is shown again if a person reads the message.
      return question?.kind === 'question' ? { ...state, items: [...state.items.slice(0, at), { ...question, text: event.text }, ...state.items.slice(at + 1).map((item) => ({ ...item, hidden: true }))] } : state;
    }
    case 'frame': {
      const next = change(event.key, (answer) => heard(answer, event.frame));
      if (event.frame.type !== 'done') return next;
      const { messageId, noResponseReason } = event.frame;
      const items = next.items.filter((item) => item.key === event.key || item.kind === 'question' || !messageId || item.id !== messageId);
      return { ...next, items: noResponseReason === 'relayed' ? items.map((item) => (item.id ? { ...item, hidden: false } : item)) : items };
    }
    case 'status': return change(event.key, (answer) => ({ ...answer, status: event.text }));
    case 'stopped': return change(event.key, (answer) => finished(answer, { type: 'done', fullText: answer.text, noResponseReason: 'stopped' }));
    case 'drop': return { ...state, items: state.items.filter(({ key }) => !event.keys.includes(key)) };
    case 'reveal': {
      const shown = state.items.find(({ key }) => key === event.key);
      return shown?.kind === 'answer' && shown.hidden ? { ...state, items: [...state.items.filter((item) => item !== shown), { ...shown, hidden: false }] } : state;
    }
    case 'unread': return { ...state, items: state.items.map((item) => (item.key === event.key && item.kind === 'question' ? { ...item, files: item.files.map((file, i) => ({ ...file, unread: file.unread ?? event.files[i]?.unread })) as SentFile[] } : item)) };
    case 'offer': return change(event.key, (answer) => ({ ...answer, offer: event.offer, wrong: event.wrong }));
    case 'rate': return { ...state, items: state.items.map((item) => (item.kind === 'answer' && item.id === event.id ? { ...item, rating: event.rating } : item)) };
    case 'notice': return { ...state, notice: event.notice };
    case 'busy': return { ...state, busy: event.busy };
  }
}

function asked(items: Item[], { question, key, asked: of, before, choice }: Extract<Event, { type: 'ask' }>): Item[] {
  const at = before ? items.findIndex((item) => item.key === before) : items.length;
  const out = question ? [...items.slice(0, at), question, ...items.slice(at)] : items;
  return [...out, { ...unanswered(key, of), hidden: Boolean(before), choice, status: t('Thinking…') }];
}

const unanswered = (key: string, of: string): Answer => ({
  kind: 'answer', key, asked: of, text: '', live: true, hidden: false, status: '', reasoning: '', trail: [], calls: [], offer: null, failed: false, note: '', at: 0, rating: 'none',
});

// recalled makes the items of a history. Those that are shown already keep their keys, and answers with the same text all that a history lacks. The end
// of an answer without a message, such as that none was needed, stays below its question, and answers in progress stay below all.
function recalled(before: Item[], messages: Message[]): Item[] {
  const keys = new Map(before.flatMap(({ id, key }) => (id ? [[id, key]] : [])));
  const out: Item[] = [];
  let of = '';
  for (const message of messages) {
    if (message.waiting) continue; // the stream shows it
    const key = message.clientMessageId ?? keys.get(message.id) ?? message.id;
    if (message.role === 'user') {
      const known = before.find((item) => item.key === key);
      const previews = known?.kind === 'question' ? known.files.map(({ preview }) => preview) : [];
      out.push({ kind: 'question', key, id: message.id, text: message.text, at: message.timestamp, files: (message.files ?? []).map((file, i) => (previews[i] ? { ...file, preview: previews[i] } : file)) });
      of = message.text;
      const silent = before.find((item): item is Answer => item.key === `${key}/answer` && item.kind === 'answer' && !item.live && !item.id);
      if (silent && !messages.some(({ replyToMessageId }) => replyToMessageId === message.id)) out.push(silent);
      continue;
    }
    const same = out.findIndex(({ id }) => id === message.id);
    if (same >= 0) out.splice(same, 1); // messages sent in quick succession share an answer
    const was = before.find((item): item is Answer => item.kind === 'answer' && item.key === key);
    const now = fromHistory(message, key, of);
    out.push({ ...(was?.text === now.text ? was : now), hidden: false, rating: now.rating, offer: now.offer, fresh: before.length > 0 && !was });
  }
  return [...out, ...before.filter((item) => item.kind === 'answer' && item.live && !out.some(({ id, key }) => key === item.key || (id && id === item.id)))];
}

function fromHistory(message: Message, key: string, of: string): Answer {
  let answer = unanswered(key, of);
  for (const tool of message.tools ?? []) answer = called(answer, tool);
  return { ...finished(answer, { ...message, type: 'done', fullText: message.text, messageId: message.id }), at: message.timestamp, rating: message.feedback?.rating ?? 'none', unasked: !message.replyToMessageId, person: message.person };
}

// heard is an answer after a frame of its stream.
function heard(answer: Answer, frame: Frame): Answer {
  switch (frame.type) {
    case 'status': return status(answer, frame);
    case 'reasoning': return { ...answer, reasoning: frame.fullText ?? answer.reasoning + (frame.text ?? '') };
    case 'token': return said(answer, frame.fullText ?? answer.text + (frame.text ?? ''), frame.fullText === undefined);
    case 'tool': return called(answer, frame);
    case 'done': return finished(answer, frame);
    default: return answer;
  }
}

function status(answer: Answer, { kind, actionName, toolName, choices }: Extract<Frame, { type: 'status' }>): Answer {
  switch (kind) {
    case 'thinking': // each stream starts with it: calls that are not repeated go with the old text
      return { ...answer, status: t('Thinking…'), reasoning: '', offer: null, calls: answer.calls.map((call) => ({ ...call, told: false })) };
    case 'choices': return { ...answer, offer: choices ? { ...choices, live: true, off: false } : null };
    case 'reasoning': return { ...answer, status: t('Thinking…') };
    case 'streaming': return { ...answer, status: '' };
    case 'update': return answer; // it is part of the text
    default: return { ...answer, status: t('Running {name}…', { name: actionName ?? toolName ?? kind }) };
  }
}

function said(answer: Answer, text: string, appended: boolean): Answer {
  if (appended) return { ...answer, text };
  const index = indices(answer.text);
  const calls = answer.calls.map((call) => (!call.told && !text.startsWith(answer.text.slice(0, index(call.at))) ? { ...call, at: 0 } : call));
  return { ...answer, text, calls };
}

const stages = (): Record<Stage, string> => ({ start: t('starting'), streaming: t('preparing'), running: t('running'), end: t('done'), failed: t('failed') });

function called(answer: Answer, frame: ToolFrame): Answer {
  const known = answer.calls.findIndex(({ id }) => id === frame.callId);
  const fresh: Call = {
    id: frame.callId, at: frame.at ?? 0, told: true, stage: 'start', name: frame.toolName ?? '', label: frame.label ?? '', line: '', state: '', args: '', chunks: '', result: '', error: '', images: [], files: [],
  };
  let call = known < 0 ? fresh : answer.calls[known]!;
  if (frame.stage === 'start') call = { ...call, chunks: '', args: '', images: [], files: [] }; // a reconnected stream starts over
  const stage: Stage = frame.phase === 'error' ? 'failed' : frame.stage ?? call.stage;
  const name = frame.shortResult && stage !== 'failed' ? frame.shortResult : stage !== call.stage || known < 0 ? stages()[stage] : call.state;
  const next: Call = {
    ...call, told: true, stage, state: name, at: frame.at ?? 0, line: frame.compactParams || call.line, args: frame.args || call.args, chunks: call.chunks + (frame.parametersChunk ?? ''),
    result: frame.result || call.result, error: frame.error || call.error, images: frame.images ?? call.images, files: frame.files ?? call.files,
  };
  return { ...answer, calls: known < 0 ? [...answer.calls, next] : answer.calls.with(known, next) };
}

// The gateway's notice on an incomplete answer is below its text, or alone.
const below = /\n\n_\(([^\n]+)\)_$/;
const alone = /^_?\(?([^\n]{1,100}?)\)?_?$/;

const reasons = (): Record<string, string> => ({
  ignored: t('No reply was needed.'),
  superseded: t('Your newer message is being answered instead.'),
  stopped: t('Stopped.'),
  timeout: t('This took too long.'),
});

function finished(answer: Answer, { fullText = '', messageId, failureKind, interrupted, noResponseReason, reason, actionCallbackHistory = [], choices, kind }: DoneFrame): Answer {
  const failed = Boolean(failureKind) || noResponseReason === 'failed' || noResponseReason === 'timeout';
  const cut = (interrupted && (below.exec(fullText) ?? (failed ? null : alone.exec(fullText)))) || null;
  const text = cut ? fullText.slice(0, cut.index) : fullText;
  const note = noResponseReason && !text ? reason ?? reasons()[noResponseReason] ?? t('There is no answer.') : cut ? cut[1]! : interrupted && !failed ? t('This answer was cut off.') : noResponseReason === 'stopped' ? t('Stopped.') : '';
  const calls = answer.calls.map((call): Call => {
    const kept = noResponseReason ? { ...call, images: [], files: [] } : call;
    return ['end', 'failed'].includes(call.stage) ? kept : { ...kept, stage: 'failed', state: t('not finished') };
  });
  return { ...said(answer, text, text === answer.text), calls, live: false, hidden: answer.hidden || noResponseReason === 'relayed' || (noResponseReason === 'ignored' && (Boolean(answer.choice) || kind === 'chosen')), status: '', failed, unable: failed || Boolean(reason), note, trail: actionCallbackHistory, id: messageId ?? answer.id, at: Date.now(), offer: choices ? { ...choices, live: false, off: false } : null };
}
