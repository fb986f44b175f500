// The messages of a conversation.

import { memo } from './memo';
import type { Controller } from '../controller';
import type { Answer, Question } from '../state';
import { t } from '../strings';
import type { View } from './files';
import { Later } from './later';
import { Button, Copy, Drawing, Time } from './parts';
import { Stretch } from './stretch';

interface QuestionProps { controller: Controller; question: Question; last: boolean; busy: boolean; view: View }

// Asked is a visitor's message, as typed, with its files.
export const Asked = memo(({ controller, question, last, busy, view }: QuestionProps) => (
  <article class="message question" aria-label={t('You')}>
    <div class="text" dir="auto" part="question">{question.text}</div>
    {question.files.length > 0 && <ul class="files" aria-label={t('Attached')}>{question.files.map((file, i) => <Later part="Sent" key={i} controller={controller} file={file} view={view} />)}</ul>}
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
  <article class={`message answer${answer.live ? ' live' : ''}${answer.failed ? ' failed' : ''}${answer.offer?.approval ? ' approving' : ''}`} aria-label={agent} part="answer">
    <details class="reasoning" hidden={answer.reasoning === ''}><summary>{t('Reasoning')}</summary><div class="thoughts" dir="auto">{answer.reasoning}</div></details>
    <div class="steps">{answer.trail.length > 0 && <Later part="Trail" controller={controller} lines={answer.trail} />}</div>
    <Said controller={controller} answer={answer} />
    <div>{answer.calls.map((call) => call.images.length + call.files.length > 0 && <Later part="Shown" key={call.id} controller={controller} call={call} view={view} />)}</div>
    <p class="status" hidden={answer.status === ''}>{answer.status}</p>
    {!answer.live && <Footer controller={controller} answer={answer} last={last} busy={busy} />}
    {answer.offer && <Later part="Offered" key={answer.offer.id} controller={controller} answer={answer} />}
  </article>
));

function Footer({ controller, answer, last, busy }: { controller: Controller; answer: Answer; last: boolean; busy: boolean }) {
  const { rating, text, failed, note, id, unasked, person } = answer;
  const rated = text && id && !failed && !person;
  const rate = (now: 'up' | 'down') => controller.rate(answer, rating === now ? 'none' : now);
  const shown = text !== '' || answer.calls.some(({ files, images }) => files.length + images.length > 0);
  if (!shown && !failed && !note) return null;
  return (
    <footer>
      {failed && <button type="button" class="retry" onClick={() => controller.retry(answer)}><Drawing name="retry" />{t('Try again')}</button>}
      {note && <span class="note">{note}</span>}
      {text && <Copy label={t('Copy the answer')} text={text} />}
      {rated && <Button icon="up" label={t('Good answer')} pressed={rating === 'up'} onClick={() => rate('up')} />}
      {rated && <Button icon="up" class="turned" label={t('Bad answer')} pressed={rating === 'down'} onClick={() => rate('down')} />}
      {last && id && !busy && !failed && !unasked && <Button icon="retry" label={t('Answer again')} onClick={() => controller.regenerate()} />}
      {shown && <Time at={answer.at} />}
    </footer>
  );
}

// Said is the text of an answer; with calls, they are where they happened. The text of a form is without the question for its first field.
function Said({ controller, answer }: { controller: Controller; answer: Answer }) {
  const { text, calls, live, offer } = answer;
  const plain = <div class="said" aria-busy={live || undefined}>{text.trim() && <Stretch text={text} done={!live} />}</div>;
  return calls.length > 0 || offer?.fields ? <Later part="Told" controller={controller} answer={answer}>{plain}</Later> : plain;
}
