// Small parts of the page.

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { copy } from '../dom';
import { type Icon, path } from '../icons';
import { locale, t } from '../strings';

export const Drawing = ({ name }: { name: Icon }) => <svg viewBox="0 0 24 24" aria-hidden="true"><path d={path(name)} /></svg>;

interface ButtonProps { icon: Icon; label: string; onClick?: (event: MouseEvent) => void; class?: string; hidden?: boolean; pressed?: boolean; type?: 'button' | 'submit'; expanded?: boolean; children?: ComponentChildren }

// Button has an icon and an accessible label.
export function Button({ icon, label, onClick, class: extra = '', hidden, pressed, type = 'button', expanded, children }: ButtonProps) {
  return (
    <button type={type} class={`icon ${extra}`.trim()} aria-label={label} title={label} onClick={onClick} hidden={hidden} aria-pressed={pressed} aria-expanded={expanded}>
      <Drawing name={icon} />{children}
    </button>
  );
}

// Copy copies a text, and confirms it briefly.
export function Copy({ label, text }: { label: string; text: string }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return undefined;
    const timer = setTimeout(() => setDone(false), 1500);
    return () => clearTimeout(timer);
  }, [done]);
  return <Button icon={done ? 'done' : 'copy'} label={done ? t('Copied') : label} onClick={async () => setDone(await copy(text))} />;
}

export const clock = (at: number): string => new Date(at).toLocaleTimeString(locale(), { hour: 'numeric', minute: '2-digit' });

export const day = (at: number): string => new Date(at).toLocaleDateString(locale(), { weekday: 'short', day: 'numeric', month: 'short' });

export function Time({ at }: { at: number }) {
  return at > 0 ? <time dateTime={new Date(at).toISOString()} title={new Date(at).toLocaleString(locale())}>{clock(at)}</time> : null;
}

// Avatar is a picture, or the first letter of a name.
export function Avatar({ name, src }: { name: string; src?: string | undefined }) {
  const [broken, setBroken] = useState(false);
  return <span class="avatar" aria-hidden="true">{src && !broken ? <img src={src} alt="" onError={() => setBroken(true)} /> : [...name][0]?.toUpperCase()}</span>;
}

// Announcer lets screen readers read an answer by sentences while it is written, and all of it when it waits for the reader.
export function Announcer({ text, live, fresh }: { text: string; live: boolean; fresh: boolean | undefined }) {
  const region = useRef<HTMLDivElement>(null);
  const read = useRef(fresh ? '' : text); // what a reload shows was read before
  useEffect(() => {
    if (!text.startsWith(read.current)) read.current = ''; // it was edited
    const rest = text.slice(read.current.length);
    const end = live ? [...rest.matchAll(/[.!?؟…](?=\s)|[。！？]|\n\n/g)].at(-1) : { index: rest.length, 0: '' };
    if (!end || !rest) return;
    const until = end.index + end[0].length;
    const words = rest.slice(0, until).replace(/\[([^\]]*)\]\([^)]*\)|\$([^\s$](?:[^$\n]*[^\s$])?)\$(?!\d)|^[#> ]+|[*_`|~]+/gm, '$1$2').trim();
    read.current += rest.slice(0, until);
    if (!words) return;
    region.current!.append(Object.assign(document.createElement('p'), { textContent: words }));
    while (region.current!.childElementCount > 8) region.current!.firstChild!.remove();
  }, [text, live]);
  return <div class="unseen" aria-live="polite" ref={region} />;
}
