// Proves to the gateway that a person uses the browser, with Turnstile or hCaptcha.

import { Refusal } from './api';
import { t } from './strings';

interface Service { render(place: HTMLElement, options: object): unknown }

const addresses = { hcaptcha: 'https://js.hcaptcha.com/1/api.js?render=explicit', turnstile: 'https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit' };

type Name = keyof typeof addresses;

interface Policy { createScriptURL(name: string): string }

let policy: Policy | undefined;

// trusted is the policy for pages that require trusted types: it makes the addresses of the services only.
function trusted(): Policy {
  const { trustedTypes } = window as { trustedTypes?: { createPolicy(name: string, rules: Policy): Policy } };
  const rules: Policy = { createScriptURL: (name) => addresses[name as Name] };
  return policy ??= trustedTypes?.createPolicy('parley', rules) ?? rules;
}

// prove returns the proof of a challenge. It throws a Refusal if the service can't be loaded, or fails.
export const prove = (key: string): Promise<{ proof: string }> => {
  const name = /^[\da-f]{8}-[\da-f]{4}-/i.test(key) ? 'hcaptcha' : 'turnstile'; // as in the gateway
  return challenge(key, name).catch(() => { throw new Refusal(403, t('“{name}” can’t be loaded right now. Please try again.', { name: new URL(addresses[name]).host }), 0); });
};

// challenge shows the challenge of a service until it is solved, and returns its proof, which the gateway accepts once.
async function challenge(key: string, name: Name): Promise<{ proof: string }> {
  const service = () => (window as unknown as Record<string, Service | undefined>)[name];
  if (!service()) {
    const src = trusted().createScriptURL(name);
    await new Promise((resolve, reject) => {
      const script = Object.assign(document.createElement('script'), { src, onload: resolve, onerror: reject });
      document.head.append(script);
    });
  }
  const place = document.createElement('div'); // not in the shadow root, where the services don't find it
  place.style.cssText = 'position: fixed; z-index: 2147483647; inset-block-end: 16px; inset-inline-start: 16px';
  document.documentElement.append(place);
  try {
    return await new Promise((resolve, reject) => service()!.render(place, { sitekey: key, callback: (proof: string) => resolve({ proof }), 'error-callback': reject }));
  } finally {
    place.remove();
  }
}
