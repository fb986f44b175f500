// The icons, drawn in the color of the text.

const strokes = {
  send: 'M12 19V5M5 12l7-7 7 7',
  stop: 'M7 7h10v10H7z',
  clip: 'M20 11.5l-8.2 8.2a5 5 0 0 1-7.1-7.1l8.2-8.2a3.4 3.4 0 0 1 4.8 4.8l-8.2 8.1a1.7 1.7 0 0 1-2.4-2.4l7.6-7.5',
  plus: 'M12 5v14M5 12h14',
  close: 'M6 6l12 12M18 6L6 18',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  done: 'M5 12.5l4.5 4.5L19 7.5',
  down: 'M12 5v14M5 12l7 7 7-7',
  retry: 'M4 12a8 8 0 1 0 2.6-5.9M4 4v4.5h4.5',
  edit: 'M4 20h4L19 9a2.8 2.8 0 0 0-4-4L4 16zM13.5 6.5l4 4',
  up: 'M7 11v9H4v-9zM7 11l4-7.5a2 2 0 0 1 2.6 2.4L12.8 9H18a2 2 0 0 1 2 2.4l-1.2 6.9a2 2 0 0 1-2 1.7H7',
  list: 'M4 6h16M4 12h16M4 18h10',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
};

// rare are those that come with what uses them; see view/more.tsx.
export const rare: Partial<Record<'file' | 'save' | 'back' | 'trash' | 'search' | 'sound' | 'mute' | 'bell' | 'still', string>> = {};

export type Icon = keyof typeof strokes | keyof typeof rare;

export const path = (name: Icon): string => ({ ...strokes, ...rare })[name]!;

// icon draws one of them.
export const icon = (name: Icon): SVGElement => draw(path(name));

// draw makes an icon of a path.
export function draw(line: string): SVGElement {
  const space = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(space, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.ariaHidden = 'true';
  const path = document.createElementNS(space, 'path');
  path.setAttribute('d', line);
  svg.append(path);
  return svg;
}
