// Parts of the page that are loaded when they are first drawn.

import { type ComponentChildren, type ComponentProps, type ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Controller } from '../controller';
import { load, patiently } from '../load';
import { foreign, locale, speak } from '../strings';

type More = typeof import('./more');
type Part = 'Attaching' | 'ChatList' | 'Contact' | 'Countdown' | 'Menu' | 'Offered' | 'Sent' | 'Shown' | 'Told' | 'Trail' | 'Viewer';

let more: More | null = null;

let spoken = ''; // the language that the words of the parts are loaded in

const ready = () => more && (!foreign() || spoken === locale());

export async function loadMore(): Promise<More> {
  const language = locale() ?? '';
  const learn = async () => speak(language, await (await fetch(new URL(`words.json?${language}&more`, import.meta.url))).json());
  [more] = await Promise.all([load<More>(MORE), foreign() && spoken !== language && patiently(learn)]);
  spoken = language;
  return more;
}

// Later draws a part with the other properties; its children until then.
export function Later<P extends Part>({ part, controller, children, ...rest }: { part: P; controller: Controller; children?: ComponentChildren } & Omit<ComponentProps<More[P]>, 'controller'>) {
  const [, drawn] = useState(0);
  useEffect(() => { if (!ready()) void loadMore().then(() => drawn(1)); }, []);
  if (!more || !ready()) return <>{children}</>;
  controller.dress(more.styles);
  const Drawn = more[part] as ComponentType<object>;
  return <Drawn {...{ controller, ...rest }} />;
}
