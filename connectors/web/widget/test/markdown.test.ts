// Markdown in pieces, calls at random, and the table of cases that goldmark and the terminal share.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { JSDOM } from 'jsdom';
import { Markdown } from '../src/markdown/markdown';
import { part } from '../src/markdown/split';
import { math } from '../src/markdown/lex';

const { document } = new JSDOM('').window;
Object.assign(globalThis, { document, MATH: 'data:text/javascript,export default () => ({ draw: (tex) => tex })', HIGHLIGHT: 'data:text/javascript,export default () => ({ highlight: () => null })', CHARACTERS: 'data:text/javascript,export default () => ({ characters: new Map() })' });

const texts = readFileSync('../testdata/markdown.md', 'utf8').split('\n=====\n');

function draw(...steps: string[]): string {
  const root = document.createElement('div');
  const markdown = new Markdown(root);
  for (const step of steps) markdown.update(step, false);
  markdown.update(steps.at(-1)!, true);
  return root.innerHTML;
}

test('text in pieces ends as text in one piece (ST-20)', () => {
  for (const text of texts) {
    const grown = Array.from({ length: text.length + 1 }, (_, n) => text.slice(0, n));
    assert.equal(draw(...grown), draw(text), text);
  }
});

test('a replaced text is drawn as if it were new', () => {
  const whole = (text: string) => {
    const root = document.createElement('div');
    new Markdown(root).update(text, false);
    return root.innerHTML;
  };
  const root = document.createElement('div');
  const markdown = new Markdown(root);
  for (const text of texts) {
    for (let cut = 0; cut < text.length; cut += 5) {
      for (const now of [text, `${text.slice(0, cut)}other\n\n${text.slice(cut)}`]) {
        markdown.update(now, false);
        assert.equal(root.innerHTML, whole(now), now);
      }
    }
  }
});

test('what is closed is not drawn again', () => {
  const root = document.createElement('div');
  const markdown = new Markdown(root);
  let text = 'first\n\nsecond\n\nthird';
  markdown.update(text, false);
  const { firstChild } = root;
  for (let i = 0; i < 20_000; i++) {
    text += i % 50 ? 'word ' : '\n\n';
    if (i % 100 === 0) markdown.update(text, false);
  }
  markdown.update(text, true);
  assert.equal(root.firstChild, firstChild);
  assert.ok(root.children.length > 350);
});

test('half of a construct reads as the whole will', () => {
  const seen = (text: string) => {
    const root = document.createElement('div');
    new Markdown(root).update(text, false);
    return root.innerHTML;
  };
  for (const [text, want] of [
    ['a **bo', '<strong>bo</strong>'], ['a **', '>a </p>'], ['a `co', '<code>co</code>'], ['see [the doc', 'see the doc<'], ['see [the doc](https://a.ex', 'see the doc<'],
    ['one <br', '>one </p>'], ['x ~~y', '<del>y</del>'], ['so \\(a^2', '>so '], ['2 * 3', '2 * 3'], ['snake_case', 'snake_case'], ['- **a', '<strong>a</strong>'],
  ] as const) assert.ok(seen(text).includes(want), `${text} is ${seen(text)}`);
});

test('known faults', () => {
  for (const [text, want] of [
    ['&copy; &amp; &#x1F600; &nosuch;', '© &amp; 😀 &amp;nosuch;'], ['Press <kbd>Ctrl</kbd>', '<kbd>Ctrl</kbd>'], ['a[^1]\n\n[^1]: note', '<sup class="footnote">1</sup>'],
    ['    code', '<pre tabindex="0"><code data-language="">code</code></pre>'], ['| a |\n|--:|\n| 12,345.6/7 |', '<td dir="auto" class="end amount">12,345.6/7</td>'],
    ['<details><summary>More</summary>\n\n*in it*\n\n</details>', '<em>in it</em></p></details>'], ['Costs \\$5 and $6', 'Costs $5 and $6'], ['![x](https://a.example/p)', '<a href="https://a.example/p"'],
    ['<b onclick=x>t</b>', '<b>t</b>'], ['<script>x</script>', '&lt;script&gt;x&lt;/script&gt;'], ['[x](javascript:y)', '<span>x</span>'],
  ] as const) assert.ok(draw(text).includes(want), `${text} is ${draw(text)}`);
});

test('maths is only what clearly is', () => {
  for (const text of ['\\(a^2\\)', '\\[x\\]', '$$x+y$$', '$x$', '$a^2+b_1$', '$\\alpha$']) assert.equal(math(text)?.raw, text);
  for (const text of ['$5 and $6', '$5-$10', '$AAPL and $MSFT', '$ x $', '$20k/$30k']) assert.equal(math(text), undefined, text);
});

test('text is parted for calls, but no paragraph and no code', () => {
  const text = 'one 🎉\n\ntwo\nthree\n\n~~~\na\n\nb\n~~~\n\nend';
  const got = [[0], [2], [8], [10], [12], [26], [36], [1000], [26, 2]].map((places) => part(text, places).join()).join(' ');
  assert.equal(got, '0 6 6 8 17 31 36 36 31,31');
});

// structure is the drawn text in the notation of the Go test that lists the differences to the server's reader; see docs/engineering/markdown.md.
function structure(node: Node): string {
  if (node.nodeType === 3) return node.nodeValue!.replaceAll('\n', '⏎');
  const of = node as HTMLElement;
  const within = (gap = '') => [...of.childNodes].map(structure).join(gap);
  if (of.classList.contains('math')) return `math(${of.textContent})`;
  if (of.matches('.code')) return `pre:${of.querySelector('code')!.dataset.language}(${of.querySelector('code')!.textContent!.replaceAll('\n', '⏎')})`;
  if (of.matches('.table')) return `table(${[...of.querySelectorAll('tr')].map((row) => `row(${[...row.children].map((cell) => [...cell.childNodes].map(structure).join('')).join(' | ')})`).join(' ')})`;
  const name = of.localName;
  if (/^h\d$/.test(name)) return `h${/\d/.exec(of.className)![0]}(${within()})`;
  if (name === 'p' && of.parentElement?.localName === 'li') return within();
  if (name === 'ul' || name === 'ol') return `${name === 'ul' ? name : `ol:${of.getAttribute('start') ?? 1}`}(${within(' ')})`;
  if (name === 'li') {
    const parts: string[] = [];
    let line = false;
    for (const child of of.childNodes) { // a paragraph, or its words without one
      const block = /^(ul|ol|p|div|blockquote|hr|h\d)$/.test((child as HTMLElement).localName ?? '');
      if ((child as HTMLElement).localName === 'input') continue;
      if (line && !block) parts.push(parts.pop()! + structure(child));
      else parts.push(structure(child));
      line = !block;
    }
    const box = of.querySelector(':scope > input');
    return `${box ? (box.hasAttribute('checked') ? 'done' : 'open') : 'li'}(${parts.join(' ')})`;
  }
  switch (name) {
    case 'br': return '⏎';
    case 'hr': return 'hr';
    case 'strong': return `b(${within()})`;
    case 'em': return `i(${within()})`;
    case 'del': return `s(${within()})`;
    case 'blockquote': return `quote(${within(' ')})`;
    case 'a': return `a[${of.getAttribute('href')}](${within()})`;
    case 'span': return `a[](${within()})`;
    case 'details': return `details(${within(' ')})`;
    default: return `${name}(${within()})`;
  }
}

test('the page reads the cases that goldmark and the terminal read (see docs/engineering/markdown.md)', () => {
  const golden = '../testdata/markdown.page.golden';
  const read = texts.map((text) => {
    const root = document.createElement('div');
    new Markdown(root).update(text, true);
    return [...root.childNodes].map(structure).join(' ');
  }).join('\n');
  if (process.env.PARLEY_UPDATE) writeFileSync(golden, `${read}\n`);
  assert.equal(`${read}\n`, readFileSync(golden, 'utf8'));
});
