// Helpers that build DOM nodes. Text is never parsed as markup.

// el creates an element. Functions become listeners, true an empty attribute; false, null and undefined are omitted.
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') node.addEventListener(name, value);
    else if (value === true) node.setAttribute(name, '');
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

const strokes = {
  send: ['M12 19V5', 'M5 12l7-7 7 7'],
  stop: ['M7 7h10v10H7z'],
  clip: ['M20 11.5l-8.2 8.2a5 5 0 0 1-7.1-7.1l8.2-8.2a3.4 3.4 0 0 1 4.8 4.8l-8.2 8.1a1.7 1.7 0 0 1-2.4-2.4l7.6-7.5'],
  plus: ['M12 5v14', 'M5 12h14'],
  close: ['M6 6l12 12', 'M18 6L6 18'],
  copy: ['M9 9h11v11H9z', 'M5 15H4V4h11v1'],
  done: ['M5 12.5l4.5 4.5L19 7.5'],
  down: ['M12 5v14', 'M5 12l7 7 7-7'],
  file: ['M14 3H7a1 1 0 0 0-1 1v16a1 1 0 0 0 1 1h10a1 1 0 0 0 1-1V7z', 'M14 3v4h4'],
  save: ['M12 5v10', 'M7.5 11l4.5 4.5 4.5-4.5', 'M5 20h14'],
  retry: ['M4 12a8 8 0 1 0 2.6-5.9', 'M4 4v4.5h4.5'],
  chat: ['M5 5h14a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1h-7l-5 4v-4H5a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1z'],
};

// icon draws one of the strokes above, in the current text color.
export function icon(name) {
  const namespace = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(namespace, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  for (const d of strokes[name]) {
    const path = document.createElementNS(namespace, 'path');
    path.setAttribute('d', d);
    svg.append(path);
  }
  return svg;
}

// button creates a button with an icon and an accessible label.
export function button(name, label, click, attributes = {}) {
  return el('button', { type: 'button', class: 'icon', 'aria-label': label, title: label, click, ...attributes }, icon(name));
}

// copyButton copies the result of text(), and confirms it briefly.
export function copyButton(label, text) {
  const copied = async () => {
    if (!await copy(text())) return;
    node.replaceChildren(icon('done'));
    node.setAttribute('aria-label', 'Copied');
    setTimeout(() => {
      node.replaceChildren(icon('copy'));
      node.setAttribute('aria-label', label);
    }, 1500);
  };
  const node = button('copy', label, copied);
  return node;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { // not allowed, or the page is not secure
    const area = el('textarea', { readonly: true, 'aria-hidden': 'true' });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}

// followViewport gives an element's styles the viewport height above a phone's keyboard. It returns a
// function that stops it.
export function followViewport(element) {
  const view = window.visualViewport;
  if (!view) return () => {};
  const measure = () => {
    element.style.setProperty('--screen-height', `${view.height}px`);
    element.style.setProperty('--screen-top', `${view.offsetTop}px`);
  };
  measure();
  view.addEventListener('resize', measure);
  view.addEventListener('scroll', measure);
  return () => {
    view.removeEventListener('resize', measure);
    view.removeEventListener('scroll', measure);
  };
}
