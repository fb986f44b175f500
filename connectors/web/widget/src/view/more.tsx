// What most visits don't need: it is loaded when it is first used.

import { useEffect, useRef, useState } from 'preact/hooks';
import type { Attached } from '../attachments';
import type { Controller } from '../controller';
import { t } from '../strings';
import { audible, chime, setAudible } from '../sound';
import { saveAs } from './files';
import { Button, Drawing } from './parts';

export { Attachments } from '../attachments';
export { default as styles } from '../more.css';
export { notify } from '../sound';
export { Approval } from './approval';
export { ChatList, Past } from './chats';
export { Contact } from './contact';
export { Sent, Shown } from './files';
export { Told, Trail } from './steps';

// Menu has the commands that are seldom used.
export function Menu({ controller, agent, close }: { controller: Controller; agent: string; close: () => void }) {
  const [sound, setSound] = useState(audible);
  const download = async () => {
    close();
    const { id } = controller.conversation;
    if (id) await controller.gateway.transcript(id).then((blob) => saveAs(blob, `${agent}.md`), (error: Error) => controller.tell(error.message));
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
    </div>
  );
}

// Attaching has the files of the next message.
export function Attaching({ controller }: { controller: Controller }) {
  const attached = controller.attached!;
  return (
    <ul class="attached" aria-label={t('Files to send')}>
      {attached.items.map((item) => <File key={item.key} item={item} remove={() => { attached.remove(item); controller.focus(); }} />)}
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
