// Maths as MathML. It is loaded when an answer has some.

import temml from 'temml';

const longest = 2000; // characters

// draw returns the MathML of TeX, or its source if it is not valid.
export function draw(tex: string, display: boolean): Element | string {
  if (tex.length > longest) return tex;
  try {
    const node = document.createElement('span');
    temml.render(tex, node, { displayMode: display, trust: false, throwOnError: true, maxSize: [20, 20], maxExpand: 500 });
    const math = node.firstElementChild!;
    for (const styled of math.querySelectorAll<HTMLElement>('[style]')) restyle(styled);
    if (math.hasAttribute('style')) restyle(math as HTMLElement);
    return math;
  } catch {
    return tex;
  }
}

// restyle sets a style by its properties: a policy can forbid the attribute.
function restyle(node: HTMLElement): void {
  const style = node.getAttribute('style')!;
  node.removeAttribute('style');
  for (const rule of style.split(';')) {
    const [name, value] = rule.split(':');
    if (name && value) node.style.setProperty(name.trim(), value.trim());
  }
}
