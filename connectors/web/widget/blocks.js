// Parses the blocks of Markdown: paragraphs, lists, code. It does not use the DOM.

const fence = /^ {0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)[^`]*$/;
const heading = /^ {0,3}(#{1,6})[ \t]+(.*)$/;
const rule = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const quote = /^ {0,3}> ?/;
const item = /^( *)([-*+]|\d{1,9}[.)])[ \t]+/;
const divider = /^ *\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?$|^ *\|? *:?-+:? *(?:\| *:?-+:? *)+\|? *$/;

const blank = (line) => line.trim() === '';
const indent = (line) => line.length - line.trimStart().length;

// parse returns the blocks of lines. first is a block's first line, and end the line after its last.
export function parse(lines) {
  const blocks = [];
  for (let i = 0; i < lines.length;) {
    if (blank(lines[i])) {
      i++;
      continue;
    }
    const block = take(lines, i);
    block.first = i;
    blocks.push(block);
    i = block.end;
  }
  return blocks;
}

function take(lines, i) {
  const text = lines[i];
  let match;
  if ((match = fence.exec(text))) return takeCode(lines, i, match);
  if ((match = heading.exec(text))) return { kind: 'heading', level: match[1].length, text: match[2].trim(), end: i + 1 };
  if (rule.test(text)) return { kind: 'rule', end: i + 1 };
  if (quote.test(text)) return takeQuote(lines, i);
  if ((match = item.exec(text))) return takeList(lines, i, match);
  if (tableAt(lines, i)) return takeTable(lines, i);
  let end = i + 1;
  while (end < lines.length && !blank(lines[end]) && !begins(lines, end)) end++;
  return { kind: 'paragraph', text: lines.slice(i, end).map((line) => line.trim()).join('\n'), end };
}

// begins reports whether a line starts a block, even directly below a paragraph.
function begins(lines, i) {
  return [fence, heading, rule, quote, item].some((form) => form.test(lines[i])) || tableAt(lines, i);
}

function takeCode(lines, i, [, mark, language]) {
  const margin = indent(lines[i]);
  const code = [];
  for (let end = i + 1; end < lines.length; end++) {
    const text = lines[end].trim();
    if (text.length >= mark.length && text === mark[0].repeat(text.length)) {
      return { kind: 'code', language, text: code.join('\n'), end: end + 1 };
    }
    code.push(lines[end].slice(Math.min(margin, indent(lines[end]))));
  }
  return { kind: 'code', language, text: code.join('\n'), end: lines.length, open: true };
}

function takeQuote(lines, i) {
  const inner = [];
  let end = i;
  for (; end < lines.length && !blank(lines[end]); end++) {
    if (quote.test(lines[end])) inner.push(lines[end].replace(quote, ''));
    else if (begins(lines, end)) break;
    else inner.push(lines[end]);
  }
  return { kind: 'quote', lines: inner, end };
}

function takeList(lines, i, [, margin, mark]) {
  const ordered = /\d/.test(mark);
  const list = { kind: 'list', ordered, start: parseInt(mark, 10), loose: false, items: [], end: i };
  let width = 0;
  for (let at = i; at < lines.length; at++) {
    const text = lines[at];
    const match = item.exec(text);
    if (blank(text)) {
      list.items.at(-1).push('');
      continue;
    }
    const apart = at > list.end; // blank lines above
    if (match && indent(text) < margin.length + 2) {
      if (/\d/.test(match[2]) !== ordered || rule.test(text)) break;
      width = match[0].length;
      list.items.push([text.slice(width)]);
    } else if (indent(text) >= margin.length + 2) {
      list.items.at(-1).push(text.slice(Math.min(indent(text), width)));
    } else if (!apart && !begins(lines, at)) {
      list.items.at(-1).push(text.trim());
    } else break;
    list.loose ||= apart;
    list.end = at + 1;
  }
  return list;
}

function tableAt(lines, i) {
  return lines[i].includes('|') && i + 1 < lines.length && divider.test(lines[i + 1]) &&
    cells(lines[i]).length === cells(lines[i + 1]).length;
}

function takeTable(lines, i) {
  const align = cells(lines[i + 1]).map((cell) => {
    if (cell.endsWith(':')) return cell.startsWith(':') ? 'center' : 'end';
    return null;
  });
  let end = i + 2;
  while (end < lines.length && !blank(lines[end]) && !begins(lines, end)) end++;
  return { kind: 'table', head: cells(lines[i]), align, rows: lines.slice(i + 2, end).map(cells), end };
}

function cells(text) {
  const out = text.trim().replace(/^\|/, '').split(/(?<!\\)\|/);
  if (out.length > 1 && blank(out.at(-1))) out.pop();
  return out.map((cell) => cell.trim().replaceAll('\\|', '|'));
}
