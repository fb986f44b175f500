// A form: the fields that the agent asks for, all at once. The text above says what they are for. The gateway checks the values.

import { useEffect, useRef } from 'preact/hooks';
import type { Controller } from '../controller';
import { stored } from '../dom';
import type { Field } from '../frames';
import type { Answer } from '../state';
import { t } from '../strings';

const place = 'parley-form'; // of what is typed, so that a reload keeps it

export function Form({ controller, answer }: { controller: Controller; answer: Answer }) {
  const { id, fields = [], options, off, wrong = {} } = answer.offer!;
  const form = useRef<HTMLFormElement>(null);
  const typed = useRef<string[][] | null>(null);
  typed.current ??= recall(id);
  const refuse = options.length - 1;
  useEffect(() => form.current!.querySelector<HTMLElement>('[aria-invalid]')?.focus(), [wrong]);
  const values = (): string[][] => {
    const data = new FormData(form.current!);
    return fields.map((_, i) => data.getAll(`${i}`) as string[]);
  };
  const send = (event: Event) => {
    event.preventDefault();
    controller.choose(answer, refuse, true, values().map((all) => all.join(', ')));
  };
  return (
    <form class="form" part="form" aria-label={t('Details')} ref={form} onSubmit={send} onInput={() => stored(() => sessionStorage.setItem(place, JSON.stringify([id, values()])))}>
      <fieldset disabled={off}>
        {fields.map((field, i) => <Line key={field.name} id={`${id}-${i}`} name={`${i}`} field={field} typed={typed.current![i] ?? []} wrong={Object.hasOwn(wrong, field.name) ? wrong[field.name] : undefined} />)}
        <div class="buttons">
          <button type="submit" class="chip">{t('Send')}</button>
          <button type="button" class="chip" dir="auto" onClick={() => controller.choose(answer, refuse)}>{options[refuse]}</button>
        </div>
      </fieldset>
    </form>
  );
}

// recall returns what was typed into a form before a reload.
function recall(id: string): string[][] {
  const [of, typed] = stored(() => JSON.parse(sessionStorage.getItem(place)!) as [string, string[][]]) ?? [];
  return of === id ? typed! : [];
}

interface Props { id: string; name: string; field: Field; typed: string[]; wrong: string | undefined }

// Line is one field with its label, and the reason why its value was refused.
function Line({ id, name, field, typed, wrong }: Props) {
  const { title, kind, optional } = field;
  const label = <span dir="auto">{title}{!optional && <span class="required" aria-hidden="true"> *</span>}</span>;
  const why = <p class="wrong" id={`${id}-why`} hidden={!wrong} dir="auto">{wrong}</p>;
  const invalid = wrong ? { 'aria-invalid': true, 'aria-describedby': `${id}-why` } : {};
  if (kind !== 'choices') return <div class="field"><label for={id}>{label}</label><Input id={id} name={name} field={field} typed={typed[0] ?? ''} invalid={invalid} />{why}</div>;
  return (
    <fieldset class="field" role="group" tabIndex={-1} {...invalid}>
      <legend>{label}</legend>
      {field.options!.map((option) => <label key={option} class="option"><input type="checkbox" name={name} value={option} defaultChecked={typed.includes(option)} /> <span dir="auto">{option}</span></label>)}
      {why}
    </fieldset>
  );
}

// Input is where the value of a field other than several options is entered.
function Input({ id, name, field: { kind, options = [], optional, min, max }, typed, invalid }: { id: string; name: string; field: Field; typed: string; invalid: object }) {
  const rest = { id, name, required: !optional, ...invalid };
  switch (kind) {
    case 'choice': return <select {...rest}><option value="">{t('Choose')}</option>{options.map((option) => <option key={option} selected={option === typed}>{option}</option>)}</select>;
    case 'date': return <input {...rest} type="date" defaultValue={typed} />;
    case 'number':
    case 'integer': return <input {...rest} type="number" inputMode={kind === 'integer' ? 'numeric' : 'decimal'} step={kind === 'integer' ? 1 : 'any'} min={min} max={max} defaultValue={typed} />;
    default: return <textarea {...rest} dir="auto" rows={max && max <= 200 ? 1 : 2} minLength={min} maxLength={max} defaultValue={typed} />;
  }
}
