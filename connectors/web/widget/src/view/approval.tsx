// What an answer offers: options, an approval of a call, or the fields of a form. The text above describes it.

import { useEffect, useState } from 'preact/hooks';
import type { Controller } from '../controller';
import type { Answer } from '../state';
import { t } from '../strings';
import { Form } from './form';

// Offered is what an answer offers.
export function Offered({ controller, answer }: { controller: Controller; answer: Answer }) {
  const { fields, approval } = answer.offer!;
  const Drawn = fields ? Form : approval ? Card : Options;
  return <Drawn controller={controller} answer={answer} />;
}

function Options({ controller, answer }: { controller: Controller; answer: Answer }) {
  const { options, off } = answer.offer!;
  return <fieldset class="chips" aria-label={t('Choose')} disabled={off}>{options.map((option, i) => <button key={i} type="button" class="chip" dir="auto" onClick={() => controller.choose(answer, i)}>{option}</button>)}</fieldset>;
}

// Card is the lower part of the card of a call: the remaining time until a decision, and the options, of which the last refuses. The gateway removes
// the options after that time: the visitor's clock can be wrong.
function Card({ controller, answer }: { controller: Controller; answer: Answer }) {
  const { options, off, until = 0 } = answer.offer!;
  const [now, setNow] = useState(Date.now());
  const counting = !off && now < until;
  useEffect(() => {
    if (!counting) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [counting]);
  return (
    <fieldset class="approval" aria-label={t('Approval')} disabled={off}>
      {counting && <p class="expires" role="timer">{t('Expires in {time}', { time: clock(until - now) })}</p>}
      {options.map((option, i) => <button key={i} type="button" class={i < options.length - 1 ? 'chip' : 'chip deny'} dir="auto" onClick={() => controller.choose(answer, i)}>{option}</button>)}
    </fieldset>
  );
}

// clock formats a duration as 4:59 or 1:04:59.
function clock(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return (parts[0] ? parts : parts.slice(1)).map((n, i) => (i > 0 ? String(n).padStart(2, '0') : n)).join(':');
}
