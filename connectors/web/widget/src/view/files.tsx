// The files of messages: images, downloads, and players for audio.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Controller } from '../controller';
import { dataURL } from '../attachments';
import { el } from '../dom';
import type { StoredFile } from '../frames';
import type { Call, SentFile } from '../state';
import { t } from '../strings';
import { Drawing } from './parts';

// Images come with the stream, or from the gateway; nothing is loaded from other sites.
const safe = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+\/=]+$/;
const extension = /\.[^.\s]{1,9}$/;
const saving = 10_000; // ms that a browser can take to start

export type View = (src: string, name: string) => void;

// useLoaded returns the image at an address as a data: URL, once it is there; null if it can't be loaded.
function useLoaded(controller: Controller, address: string): string | null | undefined {
  const inline = address.startsWith('data:');
  const [loaded, setLoaded] = useState<string | null>();
  useEffect(() => {
    if (inline) return undefined;
    const leaving = new AbortController();
    picture(controller, address, leaving.signal).then(setLoaded, () => leaving.signal.aborted || setLoaded(null));
    return () => leaving.abort();
  }, [address]);
  return inline ? address : loaded;
}

// picture returns the image at a message's URL, as a data: URL.
const picture = async ({ gateway }: Controller, address: string, signal?: AbortSignal): Promise<string> => dataURL(await gateway.file(address, signal));

function Picture({ controller, address, view }: { controller: Controller; address: string; view: View }) {
  const src = useLoaded(controller, address);
  const name = t('A picture');
  return src && safe.test(src) ? <button type="button" class="zoom" aria-label={t('Enlarge')} onClick={() => view(src, name)}><img src={src} alt={name} /></button> : null;
}

// Shown has the files of one call.
export function Shown({ controller, call, view }: { controller: Controller; call: Call; view: View }) {
  return (
    <div class="shown">
      <div class="pictures">{call.images.map((address, i) => <Picture key={i} controller={controller} address={address} view={view} />)}</div>
      <ul class="saves" aria-label={t('Files')}>{call.files.map((file) => <Save key={`${file.name} ${file.url}`} controller={controller} file={file} />)}</ul>
    </div>
  );
}

function Save({ controller, file }: { controller: Controller; file: StoredFile }) {
  const [busy, setBusy] = useState(false);
  const name = file.name || t('file');
  const end = extension.exec(name)?.[0] ?? '';
  const size = readable(file.size);
  const save = async () => {
    if (busy) return;
    setBusy(true);
    try {
      saveAs(await bytes(controller, file), name);
    } catch (error) {
      const gone = (error as { status?: number }).status === 404;
      controller.tell(gone ? t('“{name}” is not there any more.', { name }) : t('“{name}” can’t be loaded right now. Please try again.', { name }));
    } finally {
      setBusy(false);
    }
  };
  return (
    <li>
      <button type="button" class="save" title={name} aria-label={t('Save {name}, {size}', { name, size })} aria-busy={busy || undefined} onClick={save}>
        <Drawing name="file" /><span class="name" dir="auto"><span>{name.slice(0, name.length - end.length)}</span><span>{end}</span></span>
        <span class="size">{size}</span><Drawing name="save" />
      </button>
      {file.type.startsWith('audio/') && <Player controller={controller} file={file} name={name} />}
    </li>
  );
}

// saveAs downloads bytes without a content type, so that the browser does not open them in the page's origin.
export function saveAs(blob: Blob, name: string): void {
  const href = URL.createObjectURL(blob.slice(0, blob.size, 'application/octet-stream'));
  el('a', { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), saving);
}

const bytes = (controller: Controller, { url }: StoredFile): Promise<Blob> | Blob => (url.startsWith('data:') ? decode(url) : controller.gateway.file(url));

function Player({ controller, file, name }: { controller: Controller; file: StoredFile; name: string }) {
  const audio = useRef<HTMLAudioElement>(null);
  useLayoutEffect(() => {
    let made = '';
    let left = false;
    const play = (blob: Blob) => { if (!left) audio.current!.src = made = URL.createObjectURL(blob.slice(0, blob.size, file.type)); };
    if (file.url.startsWith('data:')) play(decode(file.url));
    else if (controller.gateway.direct) audio.current!.src = controller.gateway.base + file.url;
    else controller.gateway.file(file.url).then(play, () => {}); // it can still be saved
    return () => {
      left = true;
      if (made) URL.revokeObjectURL(made);
    };
  }, []);
  return <audio controls preload="none" crossOrigin="anonymous" aria-label={name} ref={audio} />;
}

const decode = (url: string): Blob => new Blob([Uint8Array.from(atob(url.slice(url.lastIndexOf(',') + 1)), (c) => c.charCodeAt(0))]);

// Sent is a file of a visitor's message: its thumbnail, or its name, and why it can't be read.
export function Sent({ controller, file, view }: { controller: Controller; file: SentFile; view: View }) {
  const name = file.name ?? t('picture');
  const why = file.unread && <span class="why">{t('Not read: {why}', { why: file.unread })}</span>;
  return <li>{file.thumbnail ? <Thumbnail controller={controller} file={file} name={name} view={view} /> : <Named name={name} />}{why}</li>;
}

const Named = ({ name }: { name: string }) => <><Drawing name="clip" /><bdi>{name}</bdi></>;

function Thumbnail({ controller, file, name, view }: { controller: Controller; file: SentFile; name: string; view: View }) {
  const src = useLoaded(controller, file.preview ?? file.thumbnail!);
  const [broken, setBroken] = useState(false);
  if (broken || src === null) return <Named name={name} />;
  const enlarge = async () => view(file.preview ?? (file.url ? await picture(controller, file.url).catch(() => src!) : src!), name);
  return <button type="button" class="zoom" aria-label={t('Enlarge {name}', { name })} onClick={enlarge}><img alt={name} title={name} src={src} onError={() => setBroken(true)} /></button>;
}

// readable formats a number of bytes.
export function readable(size: number): string {
  if (size < 1000) return size === 1 ? t('1 byte') : t('{n} bytes', { n: size });
  const [n, unit] = size < 999_500 ? [size / 1e3, 'kB'] : [size / 1e6, 'MB'];
  return `${n < 9.95 ? n.toFixed(1) : Math.round(n)} ${unit}`;
}
