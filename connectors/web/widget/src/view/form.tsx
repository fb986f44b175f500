// A form: the fields that the agent asks for, all at once. The text above says what they are for. The gateway checks the values.

import { useEffect, useRef, useState } from 'preact/hooks';
import { Attachments } from '../attachments';
import type { Controller } from '../controller';
import { stored } from '../dom';
import type { Field } from '../frames';
import type { Answer } from '../state';
import { t } from '../strings';
import { Attaching } from './more';

const place = 'parley-form'; // of what is typed, so that a reload keeps it

export function Form({ controller, answer }: { controller: Controller; answer: Answer }) {
  const { id, fields = [], options, off } = answer.offer!;
  const wrong = answer.wrong?.[id] ?? {};
  const form = useRef<HTMLFormElement>(null);
  const typed = useRef<string[][] | null>(null);
  const [, drawn] = useState(0);
  const lists = useRef<(Attachments | null)[] | null>(null);
  const save = () => stored(() => sessionStorage.setItem(place, JSON.stringify([id, values(), lists.current!.map((list) => list?.items.filter(({ stored: kept }) => kept).map(({ key, name }) => ({ key, name })))])));
  if (!typed.current) {
    const [all, files] = recall(id);
    typed.current = all;
    lists.current = fields.map(({ kind }, i) => {
      if (kind !== 'file') return null;
      const list = new Attachments(controller.conversation, (text) => controller.tell(text), () => { save(); drawn((n) => n + 1); }, () => {});
      files?.[i]?.forEach((file) => list.keep(file));
      return list;
    });
  }
  const refuse = options.length - 1;
  useEffect(() => { // a form that is taller than the page is read from its question on
    const list = form.current!.closest('.scroller');
    if (list) list.scrollTop += Math.min(0, form.current!.getBoundingClientRect().top - list.getBoundingClientRect().top - 96);
  }, []);
  useEffect(() => form.current!.querySelector<HTMLElement>('[aria-invalid]')?.focus(), [wrong]);
  const values = (): string[][] => {
    const data = new FormData(form.current!);
    return fields.map((_, i) => data.getAll(`${i}`) as string[]);
  };
  const send = async (event: Event) => {
    event.preventDefault();
    const files: [string, string[]][] = [];
    for (const [i, list] of lists.current!.entries()) {
      const keys = await list?.keys();
      if (keys === null) return;
      if (keys?.length) files.push([fields[i]!.name, keys]);
    }
    controller.choose(answer, refuse, true, values().map((all) => all.join(', ')), Object.fromEntries(files)); // a field can be named __proto__
  };
  return (
    <form class="form" part="form" aria-label={t('Details')} ref={form} onSubmit={send} onInput={save}>
      <fieldset disabled={off}>
        {fields.map((field, i) => <Line key={field.name} id={`${id}-${i}`} name={`${i}`} field={field} typed={typed.current![i] ?? []} files={lists.current![i]} controller={controller} wrong={Object.hasOwn(wrong, field.name) ? wrong[field.name] : undefined} />)}
        <div class="buttons">
          <button type="submit" class="chip">{t('Send')}</button>
          <button type="button" class="chip" dir="auto" onClick={() => controller.choose(answer, refuse)}>{options[refuse]}</button>
        </div>
      </fieldset>
    </form>
  );
}

type Uploaded = { key: string; name: string }[] | null;

// recall returns what was typed into a form before a reload, and the files that were uploaded.
function recall(id: string): [string[][], Uploaded[]?] {
  const [of, typed, files] = stored(() => JSON.parse(sessionStorage.getItem(place)!) as [string, string[][], Uploaded[]?]) ?? [];
  return of === id ? [typed!, files] : [[]];
}

interface Props { id: string; name: string; field: Field; typed: string[]; files: Attachments | null | undefined; controller: Controller; wrong: string | undefined }

// Line is one field with its label, and the reason why its value was refused.
function Line({ id, name, field, typed, files, controller, wrong }: Props) {
  const { title, kind, optional } = field;
  const label = <span dir="auto">{title}{!optional && <span class="required" aria-hidden="true"> *</span>}</span>;
  const why = <p class="wrong" id={`${id}-why`} hidden={!wrong} dir="auto">{wrong}</p>;
  const invalid = wrong ? { 'aria-invalid': true, 'aria-describedby': `${id}-why` } : {};
  if (files) {
    const picker = useRef<HTMLInputElement>(null);
    const add = ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
      if ((field.max ?? 1) < 2) files.items.forEach((item) => files.remove(item)); // the new one replaces it
      files.add(currentTarget.files!);
      currentTarget.value = '';
    };
    return (
      <div class="field">
        <label for={id}>{label}</label>
        <input id={id} ref={picker} type="file" multiple={(field.max ?? 1) > 1} accept={field.accept?.join()} onChange={add} {...invalid} />
        {files.items.length > 0 && <Attaching controller={controller} attached={files} focus={() => picker.current!.focus()} />}
        {why}
      </div>
    );
  }
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
