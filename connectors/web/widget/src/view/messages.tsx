// The messages of a conversation.

import { memo } from './memo';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Controller } from '../controller';
import { load } from '../load';
import type { Markdown } from '../markdown/markdown';
import { part } from '../markdown/split';
import type { Answer, Call, Question } from '../state';
import { locale, t, translations } from '../strings';
import { Sent, Shown, type View } from './files';
import { Button, Copy, Drawing, Time } from './parts';

interface QuestionProps { controller: Controller; question: Question; last: boolean; busy: boolean; view: View }

// Asked is a visitor's message, as typed, with its files.
export const Asked = memo(({ controller, question, last, busy, view }: QuestionProps) => (
  <article class="message question" aria-label={t('You')}>
    <div class="text" dir="auto" part="question">{question.text}</div>
    {question.files.length > 0 && <ul class="files" aria-label={t('Attached')}>{question.files.map((file, i) => <Sent key={i} controller={controller} file={file} view={view} />)}</ul>}
    <footer>
      <Time at={question.at} />
      {last && !busy && <Button icon="edit" label={t('Edit and send again')} onClick={() => controller.edit(question)} />}
      <Copy label={t('Copy the message')} text={question.text} />
    </footer>
  </article>
));

interface AnswerProps { controller: Controller; answer: Answer; agent: string; last: boolean; busy: boolean; view: View }

// Answered is an answer, finished or growing.
export const Answered = memo(({ controller, answer, agent, last, busy, view }: AnswerProps) => (
  <article class={`message answer${answer.live ? ' live' : ''}${answer.failed ? ' failed' : ''}`} aria-label={agent} part="answer">
    <details class="reasoning" hidden={answer.reasoning === ''}><summary>{t('Reasoning')}</summary><div class="thoughts" dir="auto">{answer.reasoning}</div></details>
    <div class="steps">{answer.trail.length > 0 && <Trail lines={answer.trail} />}</div>
    <Said answer={answer} />
    <div>{answer.calls.map((call) => <Shown key={call.id} controller={controller} call={call} view={view} />)}</div>
    <p class="status" hidden={answer.status === ''}>{answer.status}</p>
    {!answer.live && <Footer controller={controller} answer={answer} last={last} busy={busy} />}
    {answer.offer && <Options key={answer.offer.id} controller={controller} answer={answer} />}
  </article>
));

function Options({ controller, answer }: { controller: Controller; answer: Answer }) {
  const { options, off } = answer.offer!;
  return <fieldset class="chips" aria-label={t('Choose')} disabled={off}>{options.map((option, i) => <button key={i} type="button" class="chip" dir="auto" onClick={() => controller.choose(answer, i)}>{option}</button>)}</fieldset>;
}

function Footer({ controller, answer, last, busy }: { controller: Controller; answer: Answer; last: boolean; busy: boolean }) {
  const { rating, text, failed, note, id } = answer;
  const rate = (now: 'up' | 'down') => controller.rate(answer, rating === now ? 'none' : now);
  const shown = text !== '' || answer.calls.some(({ files, images }) => files.length + images.length > 0);
  if (!shown && !failed && !note) return null;
  return (
    <footer>
      {failed && <button type="button" class="retry" onClick={() => controller.retry(answer)}><Drawing name="retry" />{t('Try again')}</button>}
      {note && <span class="note">{note}</span>}
      {text && <Copy label={t('Copy the answer')} text={text} />}
      {text && id && !failed && <Button icon="up" label={t('Good answer')} pressed={rating === 'up'} onClick={() => rate('up')} />}
      {text && id && !failed && <Button icon="up" class="turned" label={t('Bad answer')} pressed={rating === 'down'} onClick={() => rate('down')} />}
      {last && id && !busy && !failed && <Button icon="retry" label={t('Answer again')} onClick={() => controller.regenerate()} />}
      {shown && <Time at={answer.at} />}
    </footer>
  );
}

// Trail has the messages of actions, folded.
function Trail({ lines }: { lines: string[] }) {
  return (
    <details class="trail">
      <summary>{lines.length === 1 ? t('1 step') : t('{n} steps', { n: lines.length })}</summary>
      <ol>{lines.map((line, i) => <li key={i} dir="auto"><Stretch text={line} done class="step" /></li>)}</ol>
    </details>
  );
}

// Said is the text of an answer, with its calls where they happened.
function Said({ answer: { text, calls, live } }: { answer: Answer }) {
  const ends = part(text, calls.map(({ at }) => at));
  let from = 0;
  const parts = calls.flatMap((call, i) => {
    const above = text.slice(from, ends[i]);
    from = ends[i]!;
    return [above.trim() && <Stretch key={`text ${i}`} text={above} done={!live} />, <Tool key={call.id} call={call} />];
  });
  const rest = text.slice(from);
  return <div class="said" aria-busy={live || undefined}>{parts}{rest.trim() && <Stretch key={`text ${calls.length}`} text={rest} done={!live} />}</div>;
}

// Stretch is Markdown that grows.
function Stretch({ text, done, class: name = 'text' }: { text: string; done: boolean; class?: string }) {
  const root = useRef<HTMLDivElement>(null);
  const markdown = useRef<Markdown | null>(null);
  const [, drawn] = useState(0);
  useLayoutEffect(() => {
    if (!drawing) void loadMarkdown().then(() => drawn((n) => n + 1));
    else (markdown.current ??= new drawing.Markdown(root.current!)).update(text, done);
  });
  return <div class={name} ref={root} />;
}

type Drawing = typeof import('../markdown/markdown');

let drawing: Drawing | null = null;
let loading: Promise<void> | null = null;

// loadMarkdown gets what draws Markdown, once.
export const loadMarkdown = (): Promise<void> => loading ??= load<Drawing>(MARKDOWN).then((module) => {
  module.speak(locale() ?? '', translations());
  drawing = module;
}, () => new Promise((resolve) => setTimeout(resolve, 2000)).then(() => {
  loading = null;
  return loadMarkdown();
}));

// Tool is one call, folded: its label and state, and its parameters and result as far as the gateway sends them. Without a name only its
// files are visible.
function Tool({ call }: { call: Call }) {
  const { name, label, line, state, stage, args, chunks, result, error } = call;
  return (
    <details class="tool" data-stage={stage} hidden={name === ''}>
      <summary><span class="dot" /><span class="name" dir="auto" title={label ? name : ''}>{label || name}</span><span class="line" dir="auto">{line}</span><span class="stage">{state}</span></summary>
      <dl>
        {(args || chunks) && <Field name={t('Arguments')} text={args ? pretty(args) : chunks} />}
        {result && <Field name={t('Result')} text={pretty(result)} />}
        {error && <Field name={t('Error')} text={error} />}
      </dl>
    </details>
  );
}

const Field = ({ name, text }: { name: string; text: string }) => <><dt>{name}</dt><dd dir="auto">{text}</dd></>;

// pretty indents JSON and returns any other text unchanged.
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
