// Puts the chat on any page:
//
//   <script src="https://gateway.example/widget.js" data-agent="Parley"></script>
//
// data-agent   the name that people see
// data-target  a CSS selector: fill that element instead of a button in the corner. Each has its own conversation
// data-theme   light or dark
// data-open    open at once
// data-name    the visitor's name; parley.identify({name, token}) sets it later. token is the JSON Web Token of the visitor's
//              account, or a function that returns the current one. Without token, the visitor has signed out
(() => {
  const script = document.currentScript ?? document.querySelector('script[src$="/widget.js"]');
  const { agent, target, theme, open, name } = script.dataset;
  if (!window.parley?.identify) {
    window.parley = {
      identify({ name, token } = {}) {
        const before = this.token;
        this.name = name && `${name}`;
        this.token = token;
        if (!before !== !token) window.dispatchEvent(new CustomEvent('parley-identify', { detail: !token })); // signed in, or out
      },
    };
  }
  window.parley.name ??= name;

  const place = () => {
    if (!target) return document.body;
    try {
      return document.querySelector(target);
    } catch {
      return null; // no selector
    }
  };

  const mount = async () => {
    const parent = place();
    if (!parent) {
      console.error(`Parley: nothing on this page matches data-target="${target}", so there is no chat. Correct the selector in the script tag.`);
      return;
    }
    try {
      await import(new URL('bubble.js', script.src).href);
    } catch (error) {
      console.error(`Parley: the chat can't be loaded from ${script.src}: ${error.message}`);
      return;
    }
    if (!target && document.querySelector('parley-bubble')) {
      console.warn('Parley: this page has the chat already. Remove one of the script tags, or give it a data-target.');
      return;
    }
    const chat = document.createElement(target ? 'parley-chat' : 'parley-bubble');
    if (agent) chat.setAttribute('agent', agent);
    if (theme) chat.setAttribute('theme', theme);
    parent.append(chat);
    if (open !== undefined) chat.show?.();
  };

  // One after the other, in the order of the script tags: which chat has which conversation follows from it.
  const before = Symbol.for('parley-widget');
  const next = () => { window[before] = Promise.resolve(window[before]).then(mount); };
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', next);
  else next();
})();
