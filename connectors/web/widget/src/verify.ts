// Proves to the gateway that a person uses the browser, with Turnstile or hCaptcha.

interface Service { render(place: HTMLElement, options: object): unknown }

// prove shows the challenge of a service until it is solved, and returns its proof, which the gateway accepts once.
export async function prove(key: string): Promise<{ proof: string }> {
  const name = /^[\da-f]{8}-[\da-f]{4}-/i.test(key) ? 'hcaptcha' : 'turnstile'; // as in the gateway
  const service = () => (window as unknown as Record<string, Service | undefined>)[name];
  if (!service()) {
    await new Promise((resolve, reject) => {
      const src = name === 'hcaptcha' ? 'https://js.hcaptcha.com/1/api.js?render=explicit' : 'https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit';
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
