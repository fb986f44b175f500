// Parts of the page that are loaded when they are first drawn.

import { type ComponentChildren, type ComponentProps, type ComponentType, h } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Controller } from '../controller';
import { load } from '../load';

type More = typeof import('./more');
type Part = 'Approval' | 'Attaching' | 'ChatList' | 'Contact' | 'Menu' | 'Sent' | 'Shown' | 'Told' | 'Trail' | 'Viewer';

let more: More | null = null;

export const loadMore = async (): Promise<More> => more = await load<More>(MORE);

// Later draws a part with the other properties; its children until then.
export function Later<P extends Part>({ part, controller, children, ...rest }: { part: P; controller: Controller; children?: ComponentChildren } & Omit<ComponentProps<More[P]>, 'controller'>) {
  const [, drawn] = useState(0);
  useEffect(() => { if (!more) void loadMore().then(() => drawn(1)); }, []);
  if (!more) return <>{children}</>;
  controller.dress(more.styles);
  return h(more[part] as ComponentType<object>, { controller, ...rest });
}
