// The page on which the owner logs in, with a code of gateway pair --web.

const form = document.querySelector('form')!;
const section = document.querySelector('section')!;
const said = document.querySelector<HTMLElement>('[role="status"]')!;
const code = form.elements.namedItem('code') as HTMLInputElement;

// request asks the gateway, and shows what this browser is then, or why it failed.
async function request(method: string, body?: { code: string }): Promise<void> {
  said.textContent = '';
  const headers: HeadersInit = body ? { 'Content-Type': 'application/json' } : {};
  const response = await fetch('api/login', { method, headers, body: body ? JSON.stringify(body) : null, credentials: 'same-origin', cache: 'no-store' }).catch(() => null);
  const { owner, error } = await response?.json().catch(() => ({})) ?? {} as { owner?: boolean; error?: string };
  if (response?.ok) {
    form.hidden = owner;
    section.hidden = !owner;
    if (!owner) code.focus();
  } else said.textContent = error ?? said.dataset.down!;
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  request('POST', { code: code.value });
});
section.querySelector('button')!.addEventListener('click', () => request('DELETE'));
if (window.top === window) request('GET'); // not in a frame
