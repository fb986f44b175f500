// Notifications of the browser: one for each long answer that ends while the visitor looks at no tab with the chat.

import { stored } from './dom';
import type { Answer } from './state';
import { t } from './strings';

const place = 'parley-notices'; // "off", or the answers of which a tab has told
const slow = 30_000; // ms; whoever asked has stayed for a shorter one
const patience = 300; // ms that other tabs have to say that they are seen
const most = 140; // characters of a notification

const tabs = 'BroadcastChannel' in window ? new BroadcastChannel(place) : null;
tabs?.addEventListener('message', ({ data }) => { if (data === 'seen?' && !document.hidden) tabs.postMessage('seen'); });

// permission is that of the browser, "" where it has no notifications.
export const permission = (): NotificationPermission | '' => ('Notification' in window && 'locks' in navigator ? Notification.permission : '');

export const noticing = (): boolean => permission() === 'granted' && stored(() => localStorage.getItem(place)) !== 'off';

// setNoticing turns notifications on or off. It asks for the permission once.
export async function setNoticing(on: boolean): Promise<void> {
  if (on && await Notification.requestPermission() !== 'granted') return;
  stored(() => (on ? localStorage.removeItem(place) : localStorage.setItem(place, 'off')));
}

// announce shows the end of an answer to a question of that time, in one of the tabs that follow it.
export async function announce(agent: string, answer: Answer | undefined, asked = 0): Promise<void> {
  if (!answer || !(answer.text || answer.failed) || Date.now() - asked < slow || !document.hidden || !noticing()) return;
  const id = answer.id ?? answer.key;
  await navigator.locks.request(place, async () => {
    const told = stored(() => JSON.parse(localStorage.getItem(place) ?? '[]') as string[]) ?? [];
    if (told.includes(id)) return;
    stored(() => localStorage.setItem(place, JSON.stringify([...told, id].slice(-20))));
    if (await seen()) return;
    const body = opening(answer.text) || t('{agent} has answered', { agent });
    try {
      const notice = new Notification(agent, { body, tag: id });
      notice.addEventListener('click', () => {
        window.focus();
        notice.close();
      });
    } catch { /* on phones, only programs in the background can */ }
  });
}

// seen reports whether the visitor looks at another tab with the chat, or has come back to this one.
function seen(): Promise<boolean> {
  return new Promise((resolve) => {
    const heard = ({ data }: MessageEvent) => { if (data === 'seen') end(true); };
    const end = (yes: boolean) => {
      tabs?.removeEventListener('message', heard);
      resolve(yes);
    };
    tabs?.addEventListener('message', heard);
    tabs?.postMessage('seen?');
    setTimeout(() => end(!document.hidden), patience);
  });
}

// opening is the first sentence of a text that is neither a heading nor code, without its marks.
export function opening(text: string): string {
  const line = text.replace(/^(```|~~~)[^]*?(^\1.*$|$(?![^]))/gm, '').split('\n').map((one) => one.trim()).find((one) => /[\p{L}\p{N}]/u.test(one) && !/^(#{1,6} |\||\$\$)/.test(one)) ?? '';
  const plain = line.replace(/^(?:[>*+-]|\d+[.)]) +/, '').replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/(?<![\p{L}\p{N}])[*_`~]{1,3}(?=\S)|(?<=\S)[*_`~]{1,3}(?![\p{L}\p{N}])/gu, '');
  const [first] = new Intl.Segmenter(undefined, { granularity: 'sentence' }).segment(plain);
  const sentence = first?.segment.trim() ?? '';
  const letters = [...sentence];
  return letters.length > most ? `${letters.slice(0, most - 1).join('')}…` : sentence;
}
