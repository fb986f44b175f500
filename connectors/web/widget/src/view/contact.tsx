// Where visitors leave a message for a person, when the agent can't answer.

import { useEffect, useRef, useState } from 'preact/hooks';
import type { Controller } from '../controller';
import { newKey } from '../dom';
import { t } from '../strings';

// Contact offers the form after a failure or at a limit, and always if offered is set.
export function Contact({ controller, offered }: { controller: Controller; offered?: boolean }) {
  const [key, setKey] = useState(''); // of the message, while the form is open: the gateway passes it on once
  const address = useRef<HTMLInputElement>(null);
  const text = useRef<HTMLTextAreaElement>(null);
  useEffect(() => address.current?.focus(), [key]);
  const { state: { items, notice }, draft, last: question } = controller;
  const last = items.at(-1);
  if (!key) {
    if (!offered && !notice.until && !(last?.kind === 'answer' && last.unable)) return null;
    return <p class="contact"><button type="button" class="link" onClick={() => setKey(newKey())}>{t('Leave a message for a person')}</button></p>;
  }
  const done = () => {
    setKey('');
    controller.focus();
  };
  const leave = async (event: Event) => {
    event.preventDefault();
    try {
      await controller.gateway.request('POST', 'api/contact', { address: address.current!.value, text: text.current!.value, clientMessageId: key, page: location.origin + location.pathname });
      done();
      controller.tell(t('Thank you. Your message has been passed on.'));
    } catch (error) {
      controller.tell((error as Error).message);
    }
  };
  return (
    <form class="contact" part="contact" aria-label={t('Leave a message for a person')} onSubmit={leave}>
      <input required maxLength={200} dir="auto" autocomplete="email" aria-label={t('Your e-mail address or phone number')} placeholder={t('Your e-mail address or phone number')} ref={address} />
      <textarea required maxLength={2000} rows={3} dir="auto" aria-label={t('Your message')} placeholder={t('Your message')} defaultValue={(draft.replaces ? '' : draft.text) || (question?.text ?? '')} ref={text} />
      <button class="chip" type="submit">{t('Send')}</button>
      <button class="chip" type="button" onClick={done}>{t('Cancel')}</button>
    </form>
  );
}
