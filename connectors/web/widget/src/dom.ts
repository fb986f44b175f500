// Helpers that build DOM nodes. Text is never parsed as markup.

type Attributes = Record<string, string | boolean | null | undefined>;

// el creates an element. true is an empty attribute; false, null and undefined are omitted.
export function el<K extends keyof HTMLElementTagNameMap>(tag: K, attributes?: Attributes, ...children: (Node | string)[]): HTMLElementTagNameMap[K];
export function el(tag: string, attributes?: Attributes, ...children: (Node | string)[]): HTMLElement;
export function el(tag: string, attributes: Attributes = {}, ...children: (Node | string)[]): HTMLElement {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, '');
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

// harmless returns an address that a link can have, or null.
export function harmless(target: string): string | null {
  try {
    const url = new URL(target);
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null;
  } catch {
    return null; // relative to an unknown page
  }
}

// copy writes text to the clipboard, and reports whether it could.
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { // not allowed, or the page is not secure
    const area = el('textarea', { readonly: true, 'aria-hidden': 'true' });
    area.value = text;
    document.documentElement.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}

// newKey returns an idempotency key.
export const newKey = (): string => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

// stored uses the browser's storage if allowed.
export function stored<T>(use: () => T): T | null {
  try {
    return use();
  } catch {
    return null;
  }
}
