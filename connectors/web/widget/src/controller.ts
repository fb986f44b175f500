// Connects the page with the gateway: what visitors do becomes requests, and what comes back events of the state.

import { type Ask, Gateway, Refusal } from './api';
import type { Attachments, Attached } from './attachments';
import { Conversation, pause } from './conversation';
import { newKey } from './dom';
import type { Frame, Message, Rating } from './frames';
import { type Answer, type Event, type Item, nothing, type Question, reduce, type State } from './state';
import { t } from './strings';
import type { Past } from './view/chats';
import { loadMore } from './view/later';

interface Turn { key: string; asker: Turn | undefined; cut: boolean; end: () => void }

export type Listener = (urgent: boolean) => void;

export class Controller {
  state: State = nothing;
  chats: Past | null = null; // the list of past chats, while it is open
  editing: Question | null = null;
  draft = { text: '', replaces: false }; // for the text field: a new object where it changes from outside
  attached: Attachments | null = null; // to the next message, once there were some
  readonly conversation: Conversation;
  readonly gateway: Gateway;
  #turns = new Set<Turn>();
  #life = new AbortController(); // aborted when another conversation is shown
  #watching = new AbortController();
  #tabs: BroadcastChannel | null;
  #attaching: Promise<void> | undefined;
  #missed = false; // another tab has sent something, while answers were in progress here
  #taking = false; // a message waits for its files
  #listener: Listener = () => {};
  focus: () => void = () => {};
  dress: (css: string) => void = () => {}; // adds a style sheet, once
  answered: (answer: Answer | undefined) => void = () => {};
  loaded: () => void = () => {}; // messages can be sent now

  constructor(base: string, place: string, login: boolean, verify = '') {
    this.gateway = new Gateway(base, login, verify);
    this.conversation = new Conversation(this.gateway, place);
    this.#tabs = 'BroadcastChannel' in window ? new BroadcastChannel(place) : null;
    this.#tabs?.addEventListener('message', ({ data }) => {
      if (!this.conversation.is(data.id)) return;
      if (this.#idle()) this.#sync();
      else this.#missed = true;
    });
  }

  // attach uploads files for the next message.
  attach(files: Iterable<File>): void {
    const list = [...files];
    this.#attaching = loadMore().then(({ Attachments }) => {
      this.attached ??= new Attachments(this.conversation, (text) => this.tell(text), () => this.changed(), () => this.focus());
      this.attached.add(list);
    });
  }

  // start shows the conversation, and calls changed after each change.
  start(changed: Listener): void {
    this.#listener = changed;
    window.addEventListener('parley-identify', this.#identified);
    this.#enter(this.gateway.signedOut());
  }

  destroy(): void {
    window.removeEventListener('parley-identify', this.#identified);
    this.#tabs?.close();
    this.#life.abort();
  }

  get signal(): AbortSignal {
    return this.#life.signal;
  }

  get last(): Question | undefined {
    return this.state.items.findLast((item): item is Question => item.kind === 'question');
  }

  tell(text: string, until?: number): void {
    this.#do({ type: 'notice', notice: { text, until } });
  }

  // submit sends the written text with the attached files.
  async submit(written: string): Promise<boolean> {
    if (this.#taking) return false;
    this.#taking = true;
    await this.#attaching;
    const taken = this.attached ? await this.attached.take() : [[], []] as [Attached[], Attached[]];
    this.#taking = false;
    if (!taken) return false;
    const [files, refused] = taken;
    if (this.editing && written.trim()) return this.#resend(this.editing, written.trim());
    const text = written.trim() || this.attached?.silent(files);
    if (!text || !this.send(text, files)) {
      this.attached?.restore([...files, ...refused]);
      return false;
    }
    if (refused.length > 0) this.tell(t('Sent without {names}.', { names: refused.map(({ name }) => name).join(', ') }));
    return true;
  }

  // send shows a message and requests its answer. It does nothing until the history is loaded.
  send(text: string, files: Attached[] = []): boolean {
    if (!this.state.ready) return false;
    this.draft = { text: '', replaces: false };
    this.tell('');
    if (files.length === 0 && this.#chosen(text)) return true;
    const key = newKey();
    const question: Question = { kind: 'question', key, text, at: Date.now(), files: files.map(({ preview, stored }) => ({ ...stored!, preview })) };
    this.#do({ type: 'ask', question, key: `${key}/answer`, asked: text });
    this.#ask(files.length > 0 ? { text, files: files.map(({ key: file }) => file) } : { text }, key, { files });
    this.focus();
    return true;
  }

  // choose answers a question of an answer. While that is in progress, the message is shown above it, like after a reload. pressed is false if
  // the option was typed. values and files are those of a form, instead of the option.
  choose(answer: Answer, option: number, pressed = true, values?: string[], files?: Record<string, string[]>): boolean {
    const { offer } = answer;
    if (!offer || offer.off) return false;
    const text = values?.join('\n') ?? offer.options[option]!;
    const key = newKey();
    this.#do({ type: 'offer', key: answer.key, offer: { ...offer, off: true } }); // until the result is known
    this.tell('');
    this.#do({ type: 'ask', question: { kind: 'question', key, text, files: [], at: Date.now() }, key: `${key}/answer`, asked: text, before: offer.live ? answer.key : undefined, choice: true });
    const asker = [...this.#turns].find((turn) => turn.key === answer.key) ?? { key: answer.key, asker: undefined, cut: false, end() {} }; // of an answer that has ended
    this.#ask({ text, choice: pressed ? { id: offer.id, option, values, files } : undefined }, key, { asker });
    this.focus();
    return true;
  }

  // chosen reports whether a text selects an option of an answer in progress, by the gateway's rules.
  #chosen(text: string): boolean {
    for (const answer of this.state.items.toReversed()) {
      if (answer.kind !== 'answer' || !answer.offer?.live) continue;
      const option = named(answer.offer.options, text);
      if (option >= 0) return this.choose(answer, option, false);
    }
    return false;
  }

  // retry asks again with the text of a failed answer's question.
  retry(answer: Answer): void {
    if (answer.asked) this.send(answer.asked);
  }

  edit(question: Question | null): void {
    this.editing = question;
    this.draft = { text: question?.text ?? '', replaces: true };
    this.changed();
    this.focus();
  }

  // regenerate answers the last message again.
  regenerate(): void {
    const { last } = this;
    if (last) this.#resend(last, '');
  }

  // resend answers the last message again, with another text unless it is empty.
  async #resend(question: Question, text: string): Promise<boolean> {
    if (this.#turns.size > 0) return false;
    this.editing = null;
    const { signal } = this;
    const found = question.id ?? (await this.conversation.messages(signal, () => {}).catch((): Message[] => [])).find(({ clientMessageId }) => clientMessageId === question.key)?.id;
    if (signal.aborted || !found) return false;
    this.tell('');
    const key = `${newKey()}/again`;
    this.#do({ type: 'again', key: question.key, text: text || question.text });
    this.#do({ type: 'ask', question: null, key: `${key}/answer`, asked: text || question.text });
    this.#ask({ text, again: found }, key, {});
    return true;
  }

  async rate(answer: Answer, rating: Rating): Promise<void> {
    const { id } = this.conversation;
    if (!id || !answer.id) return;
    const before = answer.rating;
    this.#do({ type: 'rate', id: answer.id, rating });
    await this.gateway.rate(id, answer.id, rating).catch((error: Error) => {
      this.#do({ type: 'rate', id: answer.id!, rating: before });
      this.tell(error.message);
    });
  }

  // stop ends the answers in progress.
  stop(): void {
    for (const turn of this.#turns) if (turn.cut) turn.end(); // the gateway may not have received it
    this.conversation.stop().catch((error: Error) => this.tell(error.message));
    this.focus();
  }

  // enter shows another conversation; null a new one. Answers in progress continue.
  enter(id: string | null): void {
    this.chats = null;
    this.show(id);
    this.attached?.again();
    this.focus();
  }

  show(id: string | null): void {
    this.#clear();
    this.conversation.enter(id);
    this.#restore();
  }

  changed(): void {
    this.#listener(true);
  }

  // list opens the list of past chats.
  async list(): Promise<void> {
    const { Past } = await loadMore();
    this.chats = new Past(this);
  }

  closeList(): void {
    this.chats = null;
    this.changed();
    this.focus();
  }

  // asker is the turn that the message answers by a choice, if any: then an answer is shown only if the choice produces one.
  async #ask(message: Ask, key: string, { asker, rejoins, files = [] }: { asker?: Turn | undefined; rejoins?: boolean; files?: Attached[] }): Promise<void> {
    const leaving = new AbortController();
    const life = this.#life.signal;
    const turn: Turn = { key: `${key}/answer`, asker, cut: false, end: () => {
      leaving.abort();
      this.#do({ type: 'stopped', key: turn.key });
    } };
    this.#turns.add(turn);
    this.#do({ type: 'busy', busy: this.#turns.size });
    try {
      await this.conversation.ask({
        rejoins,
        signal: AbortSignal.any([leaving.signal, life]),
        frame: (frame) => this.#frame(turn, frame),
        waiting: (tries) => {
          turn.cut = true;
          this.#do({ type: 'status', key: turn.key, text: reconnecting(tries) });
        },
        lost: () => {
          this.#do({ type: 'drop', keys: [turn.key] });
          if (message.again) queueMicrotask(() => this.#sync());
        },
      }, { ...message, ...name() }, key);
      if (files.length > 0) this.#learnUnread(key, life);
    } catch (refusal) {
      if (!life.aborted) this.#refused(refusal as Refusal, message, key, files, turn, rejoins);
    }
    if (life.aborted) return;
    this.#turns.delete(turn);
    for (const other of this.#turns) if (other.asker === turn) this.#do({ type: 'reveal', key: other.key });
    this.#do({ type: 'busy', busy: this.#turns.size });
    this.#tabs?.postMessage({ id: this.conversation.id });
    if (!this.#idle()) return;
    if (this.#missed) this.#sync();
    this.#watch();
  }

  // idle reports whether no answer is being written: each in progress waits for a choice.
  #idle(): boolean {
    return [...this.#turns].every((turn) => this.state.items.some((item) => item.key === turn.key && item.kind === 'answer' && item.offer));
  }

  // watch shows changes that come unasked, such as messages of a person, edits and deletions: at once, then within seconds, and more and more seldom
  // later. A form can come right after the answer that announces it.
  async #watch(): Promise<void> {
    this.#watching.abort();
    this.#watching = new AbortController();
    const signal = AbortSignal.any([this.signal, this.#watching.signal]);
    let since = Date.now();
    for (let wait = 500; ; wait = Math.max(5000, (Date.now() - since) / 6)) {
      await pause(wait, signal);
      const messages = this.conversation.id && !signal.aborted && await this.conversation.messages(signal, () => {}).catch(() => null);
      if (signal.aborted || !this.#idle()) return;
      const { items } = messages ? reduce(this.state, { type: 'history', messages }) : this.state;
      if (!messages || stored(items) === stored(this.state.items)) continue;
      since = Date.now();
      const answer = items.findLast((item): item is Answer => item.kind === 'answer' && Boolean(item.fresh));
      if (answer) this.answered(answer);
      this.#recall(messages);
    }
  }

  #frame(turn: Turn, frame: Frame): void {
    if (frame.type === 'status' && frame.kind === 'thinking' && !turn.asker) this.#tabs?.postMessage({ id: this.conversation.id });
    turn.cut = false;
    if (turn.asker && saysMore(frame)) this.#do({ type: 'reveal', key: turn.key });
    this.#do({ type: 'frame', key: turn.key, frame });
    if (frame.type === 'status' && frame.kind === 'choices' && frame.choices) this.#watch();
    if (frame.type !== 'done') return;
    const answer = this.state.items.find((item): item is Answer => item.kind === 'answer' && item.key === turn.key);
    if (answer && !answer.hidden) this.answered(answer);
  }

  // learnUnread shows which files of an answered question could not be read. Where that fails, a reload shows it.
  async #learnUnread(key: string, life: AbortSignal): Promise<void> {
    const messages = await this.conversation.messages(life, () => {}).catch((): Message[] => []);
    this.#do({ type: 'unread', key, files: messages.find(({ clientMessageId }) => clientMessageId === key)?.files ?? [] });
  }

  #refused(refusal: Refusal, message: Ask, key: string, files: Attached[], turn: Turn, rejoins?: boolean): void {
    this.#do({ type: 'drop', keys: [turn.key] });
    const asker = this.state.items.find(({ key: other }) => other === turn.asker?.key);
    if (asker?.kind === 'answer') this.#do({ type: 'offer', key: asker.key, offer: asker.offer && { ...asker.offer, off: false }, wrong: { [message.choice?.id ?? '']: refusal.fields } });
    if (message.again || (message.choice && !refusal.fields)) this.#sync();
    if (message.again || (rejoins && refusal.status !== 404)) return this.tell(refusal.message); // the message was sent, so the question stays
    this.#do({ type: 'drop', keys: [key] });
    if (files.length > 0 && refusal.status !== 404) this.attached?.restore(files);
    if (!message.choice) this.draft = { text: message.text, replaces: false };
    if (refusal.status === 404) {
      this.conversation.enter(null);
      this.attached?.again(files);
      this.#do({ type: 'history', messages: [] });
      this.tell(t('This conversation is gone. Send again to start a new one.'));
    } else this.tell(refusal.message, refusal.wait ? Date.now() + refusal.wait : undefined);
  }

  #identified = ({ detail }: CustomEventInit<boolean | null>) => {
    if (detail === null) return void this.#sync(); // a token of another account has another conversation
    this.#clear();
    this.#enter(this.gateway.signedOut() || Boolean(detail));
  };

  // enter shows the conversation of who uses the browser now. After a sign-in, the conversations of before are offered to the account;
  // after a sign-out, and if the account does not want them, it is a new one.
  async #enter(out: boolean): Promise<void> {
    const { signal } = this.#life = new AbortController();
    const earlier = this.gateway.earlier();
    const declined = earlier && await (await loadMore()).declined(this.gateway, earlier, signal, (text) => this.tell(text));
    if (signal.aborted) return;
    if (out || declined) this.conversation.enter(null);
    this.#restore();
  }

  // restore shows the history, and follows an answer in progress.
  async #restore(): Promise<void> {
    const { signal } = this.#life = new AbortController();
    try {
      const messages = await this.conversation.messages(signal, (tries) => this.tell(reconnecting(tries)));
      if (signal.aborted) return;
      this.tell('');
      this.#recall(messages);
      if (this.#turns.size === 0) this.#watch();
    } catch (refusal) {
      if (!signal.aborted) this.tell((refusal as Refusal).message);
    }
  }

  // sync shows what another tab has sent.
  async #sync(): Promise<void> {
    this.#missed = false;
    const { signal } = this;
    const messages = await this.conversation.messages(signal, () => {}).catch(() => null);
    if (messages && !signal.aborted && this.#idle()) this.#recall(messages);
  }

  #recall(messages: Message[]): void {
    this.#do({ type: 'history', messages });
    const shown = messages.filter(({ waiting }) => !waiting);
    const waits = new Set(messages.map(({ waiting, replyToMessageId }) => waiting && replyToMessageId));
    const answers = new Set<string>();
    let open: Message | null = null;
    for (const message of shown) { // a choice for an answer in progress is none of its own
      const { id, role, clientMessageId, replyToMessageId } = message;
      if (role !== 'user') {
        answers.add(id);
        open = null;
      } else if (clientMessageId && (!replyToMessageId || answers.has(replyToMessageId))) open = message;
    }
    const joins = this.#turns.size === 0;
    for (const message of shown) { // an answer can wait for a choice while later ones end
      const { id, clientMessageId } = message;
      if (joins && clientMessageId && (message === open || waits.has(id)) && !this.state.items.some(({ key }) => key === `${clientMessageId}/answer`)) this.#rejoin(message);
    }
    this.loaded();
  }

  #rejoin(open: Message): void {
    const key = open.clientMessageId!;
    this.#do({ type: 'ask', question: null, key: `${key}/answer`, asked: open.text });
    this.#ask({ text: open.text }, key, { rejoins: true });
  }

  #clear(): void {
    this.#life.abort();
    this.#turns.clear();
    this.editing = null;
    this.#do({ type: 'clear' });
    this.#do({ type: 'busy', busy: 0 });
  }

  #do(event: Event): void {
    this.state = reduce(this.state, event);
    this.#listener(event.type !== 'frame' || event.frame.type === 'done');
  }
}

// stored identifies the messages that the gateway has stored, with their texts.
const stored = (items: Item[]) => JSON.stringify(items.flatMap(({ id, kind, key, text }) => (id || kind === 'question' ? [key, text] : [])));

// name is the visitor's name, according to the page.
function name(): { name?: string } {
  const { parley } = window as { parley?: { name?: string } };
  return parley?.name ? { name: parley.name } : {};
}

// named returns the index of the option whose label or number is text, or -1.
export function named(options: string[], text: string): number {
  const plain = (words: string) => words.trim().toLowerCase();
  const same = options.findIndex((option) => plain(option) === plain(text));
  if (same >= 0) return same;
  const number = Number(/^\s*(\d{1,2})[.)]*\s*$/.exec(text)?.[1]);
  return number >= 1 && number <= options.length ? number - 1 : -1;
}

// saysMore reports whether a frame belongs to a new answer, and not to a choice whose answer is already in progress.
const saysMore = (frame: Frame) => frame.type === 'token' || frame.type === 'tool' || (frame.type === 'status' && frame.kind === 'running_action') ||
  (frame.type === 'done' && Boolean(frame.fullText || frame.noResponseReason !== 'ignored'));

const reconnecting = (tries: number) => (tries < 3 ? t('Reconnecting…') : t('The gateway can’t be reached. Trying again…'));
