// The steps on the way to an answer: its calls, and messages of actions.

import { part } from '../markdown/split';
import type { Answer, Call } from '../state';
import { t } from '../strings';
import { Stretch } from './stretch';

// Trail has the messages of actions, folded.
export function Trail({ lines }: { lines: string[] }) {
  return (
    <details class="trail">
      <summary>{lines.length === 1 ? t('1 step') : t('{n} steps', { n: lines.length })}</summary>
      <ol>{lines.map((line, i) => <li key={i} dir="auto"><Stretch text={line} done class="step" /></li>)}</ol>
    </details>
  );
}

// unprompted returns the text of an answer without the names of a person's files, which are below it, and without the question for the first field
// of its form, which shows that field itself.
function unprompted({ text, offer, person, calls }: Answer): string {
  const names = calls.flatMap(({ files }) => files.map(({ name = '' }) => plain(name)));
  if (person) return text.replace(/\n📎 (.+)/g, (line, name: string) => (names.some((whole) => whole.startsWith(plain(name))) ? '' : line));
  const [field] = offer?.fields ?? [];
  const at = text.lastIndexOf(`**${field?.title}**`);
  return !field || at < 0 || text.includes('\n\n', at) ? text : text.slice(0, at);
}

// plain returns a file name without the signs that the gateway leaves out in a text.
const plain = (name: string) => name.replace(/[^\p{L}\p{N}]+/gu, ' ').trim();

// Told is the text of an answer, with its calls where they happened.
export function Told({ answer }: { answer: Answer }) {
  const { calls, live } = answer;
  const text = unprompted(answer);
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
