// The page on which the owner logs in, with a code of gateway pair --web.

const form = document.querySelector('form');
const section = document.querySelector('section');
const status = document.querySelector('[role="status"]');
const address = new URL('api/login', import.meta.url);

// request asks the gateway, and shows what this browser is then, or why it failed.
async function request(method, body) {
  status.textContent = '';
  const headers = body ? { 'Content-Type': 'application/json' } : {};
  const response = await fetch(address, { method, headers, body: body && JSON.stringify(body), credentials: 'same-origin', cache: 'no-store' }).catch(() => null);
  const { owner, error } = await response?.json().catch(() => ({})) ?? {};
  if (response?.ok) {
    form.hidden = owner;
    section.hidden = !owner;
    if (!owner) form.code.focus();
  } else status.textContent = error ?? 'The gateway can’t be reached right now.';
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  request('POST', { code: form.code.value });
});
section.querySelector('button').addEventListener('click', () => request('DELETE'));
if (window.top === window) request('GET'); // not in a frame
