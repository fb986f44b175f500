// What most visits don't need: it is loaded when it is first used.

import { useEffect, useRef, useState } from 'preact/hooks';
import { path } from '../api';
import type { Attached, Attachments } from '../attachments';
import type { Controller } from '../controller';
import { rare } from '../icons';
import { t } from '../strings';
import { noticing, permission, setNoticing } from '../notice';
import { audible, chime, setAudible } from '../sound';
import { saveAs } from './files';
import { Button, Drawing } from './parts';

export { declined } from '../account';
export { Attachments } from '../attachments';
export { default as styles } from '../more.css';
export { notify } from '../sound';
export { Offered } from './approval';
export { ChatList, Past } from './chats';
export { Contact } from './contact';
export { Sent, Shown } from './files';
export { Told, Trail } from './steps';

Object.assign(rare, {
  file: 'M14 3H7a1 1 0 0 0-1 1v16a1 1 0 0 0 1 1h10a1 1 0 0 0 1-1V7zM14 3v4h4',
  save: 'M12 5v10M7.5 11l4.5 4.5 4.5-4.5M5 20h14',
  back: 'M19 12H5M12 5l-7 7 7 7',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13',
  search: 'M11 4a7 7 0 1 1 0 14 7 7 0 0 1 0-14zM20 20l-4-4',
  sound: 'M11 5L6.5 9H3v6h3.5L11 19zM15.5 9a4 4 0 0 1 0 6M18 6.5a8 8 0 0 1 0 11',
  bell: 'M6 16V11a6 6 0 0 1 12 0v5l1.5 2h-15zM10 21h4',
  still: 'M6 16V11a6 6 0 0 1 12 0v5l1.5 2h-15zM4 4l16 16',
  mute: 'M11 5L6.5 9H3v6h3.5L11 19zM16 9.5l5 5M21 9.5l-5 5',
});

// Menu has the commands that are seldom used.
export function Menu({ controller, agent, close }: { controller: Controller; agent: string; close: () => void }) {
  const [sound, setSound] = useState(audible);
  const [notices, setNotices] = useState(noticing);
  const download = async () => {
    close();
    const { id } = controller.conversation;
    if (id) await controller.gateway.file(`${path(id)}/export`).then((blob) => saveAs(blob, `${agent}.md`), (error: Error) => controller.tell(error.message));
  };
  const noisy = () => {
    setAudible(!sound);
    if (!sound) chime();
    setSound(!sound);
  };
  return (
    <div class="menu">
      <button type="button" onClick={download} disabled={controller.state.items.length === 0}><Drawing name="save" />{t('Download the transcript')}</button>
      <button type="button" aria-pressed={sound} onClick={noisy}><Drawing name={sound ? 'sound' : 'mute'} />{sound ? t('Sound is on') : t('Sound is off')}</button>
      {permission() && <button type="button" aria-pressed={notices} disabled={permission() === 'denied'} onClick={() => setNoticing(!notices).finally(() => setNotices(noticing))}><Drawing name={notices ? 'bell' : 'still'} />{permission() === 'denied' ? t('Your browser blocks notifications') : notices ? t('Notifications are on') : t('Notifications are off')}</button>}
    </div>
  );
}

// Countdown is a notice with the seconds until it ends.
export function Countdown({ text, until }: { text: string; until: number }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [until]);
  const seconds = Math.ceil((until - now) / 1000);
  return seconds > 0 ? <>{text} ({t('{n} s', { n: seconds })})</> : null;
}

// Attaching has the files of the next message, or of a field of a form.
export function Attaching({ controller, attached = controller.attached!, focus = () => controller.focus() }: { controller: Controller; attached?: Attachments; focus?: () => void }) {
  return (
    <ul class="attached" aria-label={t('Files to send')}>
      {attached.items.map((item) => <File key={item.key} item={item} remove={() => { attached.remove(item); focus(); }} />)}
    </ul>
  );
}

function File({ item, remove }: { item: Attached; remove: () => void }) {
  const [broken, setBroken] = useState(false);
  const { name, preview, sending, progress, why } = item;
  return (
    <li class={why ? 'failed' : undefined}>
      {preview && !broken ? <img src={preview} alt={name} onError={() => setBroken(true)} /> : <span class="name" dir="auto" title={name}><Drawing name="file" />{name}</span>}
      <progress max={1} value={progress} hidden={!sending} aria-label={t('Sending {name}', { name })} />
      <span class="why" role="alert">{why}</span>
      <Button icon="close" label={t('Remove {name}', { name })} onClick={remove} />
    </li>
  );
}

// Viewer shows one image over the whole window.
export function Viewer({ src, name, close }: { src: string; name: string; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current!.showModal(), []);
  const key = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    dialog.current!.close();
  };
  return (
    <dialog class="viewer" ref={dialog} aria-label={name} onClose={close} onClick={() => dialog.current!.close()} onKeyDown={key}>
      <img src={src} alt={name} />
      <Button icon="close" label={t('Close')} onClick={() => dialog.current!.close()} />
    </dialog>
  );
}
export { prove } from '../verify';
