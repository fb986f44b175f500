// Text of an answer.

import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { load } from '../load';
import type { Markdown } from '../markdown/markdown';

// Stretch is Markdown that grows.
export function Stretch({ text, done, class: name = 'text' }: { text: string; done: boolean; class?: string }) {
  const root = useRef<HTMLDivElement>(null);
  const markdown = useRef<Markdown | null>(null);
  const [, drawn] = useState(0);
  useLayoutEffect(() => {
    if (!drawing) void loadMarkdown().then(() => drawn((n) => n + 1));
    else (markdown.current ??= new drawing.Markdown(root.current!)).update(text, done);
  });
  return <div class={name} ref={root} />;
}

type Drawing = typeof import('../markdown/markdown');

let drawing: Drawing | null = null;
// loadMarkdown gets what draws Markdown.
export const loadMarkdown = async (): Promise<void> => { drawing = await load<Drawing>(MARKDOWN); };
