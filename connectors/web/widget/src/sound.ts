// Tells of an answer that the visitor may not see: a sound and a notification if wanted, and the title of the page.

import { stored } from './dom';
import { announce } from './notice';
import type { Answer } from './state';
import { t } from './strings';

const place = 'parley-sound';

export const audible = (): boolean => stored(() => localStorage.getItem(place)) === 'on';

export const setAudible = (on: boolean): void => { stored(() => localStorage.setItem(place, on ? 'on' : 'off')); };

// notify tells of an answer to a question of that time.
export function notify(agent: string, answer: Answer | undefined, asked: number | undefined): void {
  if (audible()) chime();
  blink(agent);
  void announce(agent, answer, asked);
}

// chime plays two short notes.
export function chime(): void {
  try {
    const audio = new AudioContext();
    const volume = audio.createGain();
    volume.connect(audio.destination);
    volume.gain.setValueAtTime(0.08, audio.currentTime);
    volume.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + 0.5);
    [660, 880].forEach((frequency, i) => {
      const note = audio.createOscillator();
      note.frequency.value = frequency;
      note.connect(volume);
      note.start(audio.currentTime + i * 0.12);
      note.stop(audio.currentTime + 0.5);
    });
    setTimeout(() => audio.close(), 1000);
  } catch { /* not allowed yet */ }
}

// blink changes the title until the visitor looks at the page.
function blink(agent: string): void {
  if (!document.hidden || blinking) return;
  const before = document.title;
  const words = t('{agent} has answered', { agent });
  const timer = setInterval(() => { document.title = document.title === words ? before : words; }, 1200);
  blinking = true;
  document.title = words;
  document.addEventListener('visibilitychange', () => {
    clearInterval(timer);
    blinking = false;
    if (document.title === words) document.title = before;
  }, { once: true });
}

let blinking = false;
