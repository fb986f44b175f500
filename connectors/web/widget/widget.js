// Puts the chat on any page:
//
//   <script src="https://gateway.example/widget.js" data-agent="Parley"></script>
//
// data-agent   the name that people see
// data-target  a CSS selector: fill that element, which has a height, instead of a button in the corner
// data-theme   light or dark; otherwise what the visitor's system says
// data-open    open at once
//
// It is a classic script that loads modules, so that it needs no type="module".
(() => {
  const script = document.currentScript ?? document.querySelector('script[src$="/widget.js"]');
  const { agent, target, theme, open } = script.dataset;

  const mount = async () => {
    await import(new URL('bubble.js', script.src).href);
    const chat = document.createElement(target ? 'parley-chat' : 'parley-bubble');
    if (agent) chat.setAttribute('agent', agent);
    if (theme) chat.setAttribute('theme', theme);
    document.querySelector(target || 'body').append(chat);
    if (open !== undefined) chat.show?.();
  };

  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', mount);
  else mount();
})();
