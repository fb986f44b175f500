// Where visitors write.

import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Controller } from '../controller';
import { t } from '../strings';
import { Later } from './later';
import { Button } from './parts';

const phone = () => matchMedia('(pointer: coarse)').matches && !matchMedia('(any-pointer: fine)').matches;

interface Props { controller: Controller; agent: string; accept: string; busy: boolean; privacy?: string | undefined; close: (() => void) | undefined }

export function Composer({ controller, agent, accept, busy, privacy, close }: Props) {
  const input = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const fit = () => {
    input.current!.style.height = 'auto';
    input.current!.style.height = `${input.current!.scrollHeight}px`;
  };
  const { draft, editing, attached, state: { notice: { text, until } } } = controller;
  useLayoutEffect(() => { controller.focus = () => input.current?.focus({ preventScroll: true }); }, []);
  useLayoutEffect(() => {
    if (!draft.text && !draft.replaces) return;
    input.current!.value = draft.replaces ? draft.text : [draft.text, input.current!.value].filter(Boolean).join('\n');
    fit();
  }, [draft]);
  const submit = async (event: Event) => {
    event.preventDefault();
    const written = input.current!.value;
    const sent = controller.submit(written);
    if (!await sent || input.current!.value !== written) return;
    input.current!.value = '';
    fit();
  };
  const key = (event: KeyboardEvent) => {
    const { value } = input.current!;
    if (event.isComposing || event.keyCode === 229) return; // an input method uses the keys itself
    if (event.key === 'Enter' && !event.shiftKey && (!phone() || event.ctrlKey || event.metaKey)) submit(event);
    else if (event.key === 'ArrowUp' && value === '' && controller.last) recall();
    else if (event.key === 'Escape' && (editing || busy || !close)) {
      event.stopPropagation();
      if (editing) controller.edit(null);
      else if (busy) controller.stop();
    } else return;
    event.preventDefault();
  };
  const paste = (event: ClipboardEvent) => {
    const { files, types } = event.clipboardData!;
    if (files.length === 0 || types.includes('text/plain')) return;
    event.preventDefault();
    controller.attach(files);
  };
  const recall = () => {
    input.current!.value = controller.last!.text;
    fit();
  };
  return (
    <form class="composer" onSubmit={submit} part="composer">
      <p class="notice" role="status">{until ? <Later part="Countdown" controller={controller} text={text} until={until}>{text}</Later> : text}</p>
      {editing && <p class="editing">{t('Editing your last message')} <button type="button" class="link" onClick={() => controller.edit(null)}>{t('Cancel')}</button></p>}
      <div class="attachments">
        {attached && attached.items.length > 0 && <Later part="Attaching" controller={controller} />}
        <input type="file" multiple hidden accept={accept} ref={picker} onChange={() => { controller.attach(picker.current!.files!); picker.current!.value = ''; }} />
      </div>
      <div class="box">
        <Button icon="clip" label={t('Attach files')} onClick={() => picker.current!.click()} />
        <textarea rows={1} dir="auto" maxLength={32000} placeholder={t('Message {agent}', { agent })} aria-label={t('Message {agent}', { agent })} enterkeyhint={phone() ? 'enter' : 'send'}
          ref={input} onKeyDown={key} onInput={fit} onPaste={paste} />
        <Button icon="stop" class="stop" label={t('Stop the answer')} hidden={!busy} onClick={() => controller.stop()} />
        <Button icon="send" class="send" type="submit" label={t('Send')} />
      </div>
      {privacy && <p class="privacy">{privacy}</p>}
    </form>
  );
}
