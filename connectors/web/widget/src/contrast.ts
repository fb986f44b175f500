// Colors that can be read on and beside any accent.

type Color = [number, number, number];

// color returns what a browser draws for a CSS color.
export function color(css: string): Color {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 1;
  const draw = canvas.getContext('2d')!;
  draw.fillStyle = css;
  draw.fillRect(0, 0, 1, 1);
  const [r, g, b] = draw.getImageData(0, 0, 1, 1).data;
  return [r!, g!, b!];
}

const light = ([r, g, b]: Color): number => {
  const [x, y, z] = [r, g, b].map((c) => (c <= 10 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4)) as Color;
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
};

// contrast is that of WCAG, from 1 to 21.
export const contrast = (a: Color, b: Color): number => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);

// above returns the color of text on an accent: the better of white and black, whose contrast is at least 4.58.
export const above = (accent: Color): string => (contrast(accent, [255, 255, 255]) >= contrast(accent, [0, 0, 0]) ? '#fff' : '#000');

// readable moves an accent away from a ground until text in it has a contrast of 4.5.
export function readable(accent: Color, ground: Color): string {
  const goal = light(ground) > 0.18 ? 0 : 255;
  let now = accent;
  for (let part = 0; part < 1 && contrast(now, ground) < 4.6; part += 0.05) now = accent.map((c) => Math.round(c + (goal - c) * part)) as Color;
  return `rgb(${now.join(' ')})`;
}
