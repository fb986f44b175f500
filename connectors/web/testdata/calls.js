// Answers that come about at random, as a gateway tells them, and as a reload shows them.

const pieces = ['word ', 'naïve ', '🎉', '見', '\n', '\n\n', '\n\n\n', '**bold', '** ', '- item\n', '1. one\n', '> quote\n', '| a | b |\n|---|---|\n', '# Head\n', '`', '```\n', '~~~\n', '    in\n'];
const bytes = (text) => new TextEncoder().encode(text).length;

// generator is mulberry32: the same seed gives the same answer.
function generator(seed) {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return (n) => Math.floor(next() * n);
}

// told is the text of segments, and how many bytes of it stand above each call.
function told(segments) {
  let text = '';
  const places = [];
  for (const { call, said } of segments) {
    if (call) places.push([call, bytes(text)]);
    if (said) text += (text && '\n\n') + said;
  }
  return { text, places };
}

function node(call) {
  const made = document.createElement('details');
  made.className = 'tool';
  made.title = call;
  return made;
}

function change(segments, int, pick) {
  const calls = segments.filter(({ call }) => call);
  const last = segments.at(-1);
  const kind = int(8);
  if (kind === 0) segments.push({ call: `call${calls.length + 1}`, said: '' });
  else if (kind === 1 && calls.length > 0) calls[int(calls.length)].said = Array.from({ length: int(5) }, pick).join('');
  else if (kind === 2 && segments.length > 0) segments[int(segments.length)].said += pick();
  else if (last && !last.call) last.said += pick();
  else segments.push({ said: pick() });
}

function play(seed) {
  const int = generator(seed);
  const fenced = seed % 3 === 0;
  // what is left of a table depends on its head
  const some = fenced ? pieces : pieces.filter((piece) => !/```|~~~|\|/.test(piece));
  const pick = () => some[int(some.length)];
  const segments = [];
  const nodes = new Map();
  const live = new Said();
  let seen = { text: '', places: [] };
  for (let steps = int(60); steps > 0; steps--) {
    change(segments, int, pick);
    if (int(3) === 0) continue;
    const now = told(segments);
    const say = () => {
      if (now.text.startsWith(seen.text) && int(6) > 0) live.append(now.text.slice(seen.text.length));
      else live.replace(now.text);
    };
    const early = int(2) === 0;
    if (early) say();
    for (const [call, at] of now.places) {
      if (!nodes.has(call)) nodes.set(call, node(call));
      live.place(nodes.get(call), at);
    }
    if (!early) say();
    seen = now;
    if (int(2) === 0) live.draw(false);
  }
  const { text, places } = told(segments);
  for (const [call, at] of places) {
    if (!nodes.has(call)) nodes.set(call, node(call));
    live.place(nodes.get(call), at);
  }
  live.replace(text);
  live.draw(true);
  const again = new Said();
  for (const [call, at] of places) again.place(node(call), at);
  again.replace(text);
  again.draw(true);
  if (live.element.innerHTML !== again.element.innerHTML) return 'live is not as after a reload';
  if (live.text !== text) return 'the text is another';
  return fenced || text.includes('`') ? '' : misplaced(segments, live.element);
}

// misplaced compares the calls with the letters above each.
function misplaced(segments, element) {
  const letters = (text) => text.replace(/[^wordnaïve🎉見lbtmuqHi]/gu, '');
  let above = '';
  const want = [];
  for (const { call, said } of segments) {
    if (call) want.push(`${call} ${above.length}`);
    above += letters(said);
  }
  above = '';
  const got = [];
  for (const child of element.children) {
    if (child.matches('.tool')) got.push(`${child.title} ${above.length}`);
    else above += letters(child.textContent);
  }
  return want.join() === got.join() ? '' : `${got} in place of ${want}`;
}

window.wrong = (seeds) => {
  for (let seed = 1; seed <= seeds; seed++) {
    const found = play(seed);
    if (found) return `seed ${seed}: ${found}`;
  }
  return '';
};
