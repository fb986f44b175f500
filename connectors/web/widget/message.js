// Renders one message: a user's, or a growing answer.

import { copyButton, el, icon } from './dom.js';
import { Shown } from './files.js';
import { inline } from './inline.js';
import { Said } from './said.js';

// question renders a user's message as typed, with its files. load returns the thumbnail at an address, as a data: URL.
export function question(text, files = [], load = null) {
  const names = files.map((file) => sent(file, load));
  return el('article', { class: 'message question', 'aria-label': 'You' }, el('div', { class: 'text', dir: 'auto' }, text),
    names.length > 0 ? el('ul', { class: 'files', 'aria-label': 'Attached' }, ...names) : '');
}

// sent renders a file of a user's message: its thumbnail, or its name, and why it can't be read.
function sent({ name = 'picture', preview, thumbnail, unread }, load) {
  const why = unread ? notRead(unread) : '';
  if (!thumbnail) return el('li', { dir: 'auto' }, icon('clip'), name, why);
  const image = el('img', { alt: name, title: name });
  const node = el('li', { dir: 'auto' }, image, why);
  const failed = () => image.replaceWith(icon('clip'), name);
  image.addEventListener('error', failed);
  if (preview) image.src = preview;
  else load(thumbnail).then((src) => { image.src = src; }, failed);
  return node;
}

const notRead = (why) => el('span', { class: 'why' }, `Not read: ${why}`);

// tellUnread adds to the files of a question why they can't be read, which is known once it is answered.
export function tellUnread(question, files) {
  question.querySelectorAll('.files li').forEach((node, i) => {
    if (files[i]?.unread && !node.querySelector('.why')) node.append(notRead(files[i].unread));
  });
}

const stages = { start: 'starting', streaming: 'preparing', running: 'running', end: 'done' };

const reasons = {
  ignored: 'No reply was needed.',
  superseded: 'Your newer message is being answered instead.',
  stopped: 'Stopped.',
  timeout: 'This took too long.',
};

// The gateway's notice on an incomplete answer is below its text, or alone.
const below = /\n\n_\(([^\n]+)\)_$/;
const alone = /^_?\(?([^\n]{1,100}?)\)?_?$/;

// Answer renders frames as they come, at most once per animation frame.
export class Answer {
  element;
  #steps = el('div', { class: 'steps' });
  #reasoned = el('div', { class: 'thoughts', dir: 'auto' });
  #reasoning = el('details', { class: 'reasoning', hidden: true }, el('summary', {}, 'Reasoning'), this.#reasoned);
  #said = new Said();
  #shown = el('div');
  #status = el('p', { class: 'status' });
  #foot = el('footer');
  #tools = new Map();
  #drawing = 0;
  #shelf;
  chips = null; // the options

  // agent is the author's name; retry is called when the user wants another answer; shelf has the files of calls.
  constructor(agent, retry, shelf) {
    this.retry = retry;
    this.#shelf = shelf;
    this.element = el('article', { class: 'message answer live', 'aria-label': agent }, this.#reasoning, this.#steps, this.#said.element, this.#shown, this.#status, this.#foot);
    this.#status.hidden = true;
  }

  // frame handles one event of the stream.
  frame(frame) {
    switch (frame.type) {
      case 'status':
        if (frame.kind === 'thinking') { // each stream starts with it
          this.#said.begin();
          this.#reason({ fullText: '' });
        }
        if (frame.kind !== 'update') this.say(statusText(frame)); // an update is part of the text
        break;
      case 'reasoning': this.#reason(frame); break;
      case 'token': this.#grow(frame); break;
      case 'tool': this.#tool(frame); break;
      case 'done': this.finish(frame); break;
    }
  }

  // say shows a status line below the text.
  say(text) {
    this.#status.hidden = text === '';
    this.#status.textContent = text;
    this.#said.element.setAttribute('aria-busy', 'true'); // screen readers read it once it is complete
  }

  // offer shows the options below everything else; null removes them.
  offer(chips) {
    this.chips?.remove();
    this.chips = chips;
    if (chips) this.element.append(chips);
  }

  // #trail shows the actions' messages, collapsed.
  #trail(history) {
    const lines = history.map((said) => el('li', { dir: 'auto' }, inline(said)));
    const title = history.length === 1 ? '1 step' : `${history.length} steps`;
    this.#steps.append(el('details', { class: 'trail' }, el('summary', {}, title), el('ol', {}, ...lines)));
  }

  // finish shows the final state.
  finish({ fullText = '', failureKind, interrupted, noResponseReason, actionCallbackHistory }) {
    if (actionCallbackHistory?.length) this.#trail(actionCallbackHistory);
    const failed = Boolean(failureKind) || noResponseReason === 'failed' || noResponseReason === 'timeout';
    const cut = (interrupted && (below.exec(fullText) ?? (failed ? null : alone.exec(fullText)))) || null;
    const text = cut ? fullText.slice(0, cut.index) : fullText;
    this.#said.replace(text);
    this.#draw(true);
    this.#status.hidden = true;
    this.#said.element.removeAttribute('aria-busy');
    for (const tool of this.#tools.values()) tool.finish(Boolean(noResponseReason));
    this.element.classList.remove('live');
    this.element.classList.toggle('failed', failed);
    if (noResponseReason && !text) this.note(reasons[noResponseReason] ?? 'There is no answer.');
    else if (cut) this.note(cut[1]);
    else if (interrupted && !failed) this.note('This answer was cut off.');
    if (text) this.#foot.append(copyButton('Copy the answer', () => this.#said.text));
    if (failed) this.#foot.prepend(this.#again());
  }

  // note shows why the answer has ended.
  note(text) {
    this.#status.hidden = true;
    this.#foot.prepend(el('span', { class: 'note' }, text));
  }

  #again() {
    const click = () => {
      again.remove();
      this.retry();
    };
    const again = el('button', { type: 'button', class: 'retry', click }, icon('retry'), 'Try again');
    return again;
  }

  #grow({ text = '', fullText }) {
    if (fullText === undefined) this.#said.append(text);
    else this.#said.replace(fullText);
    this.#changed();
  }

  // #reason shows the model's reasoning as it is written, collapsed. It is no part of the answer, and gone after a reload.
  #reason({ text = '', fullText }) {
    if (fullText !== undefined) this.#reasoned.textContent = fullText;
    else this.#reasoned.append(text);
    this.#reasoning.hidden = this.#reasoned.textContent === '';
  }

  #changed() {
    this.#drawing ||= requestAnimationFrame(() => this.#draw(false));
  }

  #draw(done) {
    cancelAnimationFrame(this.#drawing);
    this.#drawing = 0;
    this.#said.draw(done);
  }

  #tool(frame) {
    let tool = this.#tools.get(frame.callId);
    if (!tool) {
      tool = new Tool(frame, this.#shelf);
      this.#tools.set(frame.callId, tool);
      this.#shown.append(tool.shown.element);
    }
    if (this.#said.place(tool.element, frame.at)) this.#changed();
    tool.show(frame);
  }
}

function statusText({ kind, actionName, toolName }) {
  switch (kind) {
    case 'streaming': return '';
    case 'thinking':
    case 'reasoning': return 'Thinking…';
    default: return `Running ${actionName ?? toolName ?? kind}…`;
  }
}

// Tool renders one call, collapsed: its label and state are visible, its parameters and result below, as far as the gateway
// sends them. Without a name only its files are visible.
class Tool {
  element;
  #line = el('span', { class: 'line', dir: 'auto' }); // short form of the parameters
  #stage = el('span', { class: 'stage' });
  #fields = el('dl');
  #shown = new Map();
  #chunks = ''; // of the arguments
  shown; // stands below the text

  constructor({ toolName = '', label }, shelf) {
    this.shown = new Shown(shelf);
    const name = el('span', { class: 'name', dir: 'auto', title: label ? toolName : '' }, label || toolName);
    this.element = el('details', { class: 'tool', 'data-stage': 'start', hidden: toolName === '' },
      el('summary', {}, el('span', { class: 'dot' }), name, this.#line, this.#stage), this.#fields);
  }

  show({ stage, phase, args, parametersChunk, compactParams, result, shortResult, error, images, files }) {
    const failed = phase === 'error';
    if (stage === 'start') { // a reconnected stream starts over
      this.#chunks = '';
      this.shown.clear();
    }
    const now = failed ? 'failed' : stage;
    if (shortResult || now !== this.element.dataset.stage) this.#stage.textContent = failed ? 'failed' : shortResult || stages[stage];
    this.element.dataset.stage = now;
    if (compactParams) this.#line.textContent = compactParams;
    this.#chunks += parametersChunk ?? '';
    if (args || this.#chunks) this.#field('Arguments', args || this.#chunks, Boolean(args));
    if (result) this.#field('Result', result, true);
    if (error) this.#field('Error', error, false);
    if (images) this.shown.pictures(images);
    if (files) this.shown.files(files);
  }

  // finish ends a call that was abandoned. withdrawn means that its files are removed.
  finish(withdrawn) {
    if (withdrawn) this.shown.clear();
    if (['end', 'failed'].includes(this.element.dataset.stage)) return;
    this.element.dataset.stage = 'failed';
    this.#stage.textContent = 'not finished';
  }

  #field(name, text, whole) {
    let value = this.#shown.get(name);
    if (!value) {
      value = el('dd', { dir: 'auto' });
      this.#shown.set(name, value);
      this.#fields.append(el('dt', {}, name), value);
    }
    value.textContent = whole ? pretty(text) : text;
  }
}

// pretty indents JSON and returns any other text unchanged.
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
