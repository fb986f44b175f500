// Colors code. It is loaded when an answer has some in a known language.

import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import cpp from 'highlight.js/lib/languages/cpp';
import csharp from 'highlight.js/lib/languages/csharp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import dockerfile from 'highlight.js/lib/languages/dockerfile';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import kotlin from 'highlight.js/lib/languages/kotlin';
import markdown from 'highlight.js/lib/languages/markdown';
import php from 'highlight.js/lib/languages/php';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import swift from 'highlight.js/lib/languages/swift';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { el } from '../dom';
import styles from './highlight.css';

const languages = { bash, c, cpp, csharp, css, diff, dockerfile, go, ini, java, javascript, json, kotlin, markdown, php, python, ruby, rust, sql, swift, typescript, xml, yaml };
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language);

const longest = 50_000; // characters

interface Scope { scope?: string; children: (Scope | string)[] }

const sheets = new WeakSet<Node>(); // the roots that have the colors

// dress adds the colors to the style sheets of a root.
function dress(root: Node): void {
  if (!(root instanceof ShadowRoot) || sheets.has(root)) return;
  sheets.add(root);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(styles);
  root.adoptedStyleSheets.push(sheet);
}

// highlight returns the nodes of code, or nothing if the language is unknown.
export function highlight(text: string, language: string, within: Node): (Node | string)[] | null {
  if (text.length > longest || !hljs.getLanguage(language)) return null;
  dress(within);
  const result = hljs.highlight(text, { language, ignoreIllegals: true }) as unknown as { _emitter: { rootNode: Scope } };
  return result._emitter.rootNode.children.map(draw);
}

const draw = (node: Scope | string): Node | string => (typeof node === 'string' ? node : el('span', { class: node.scope ? `hl-${node.scope.split('.')[0]}` : null }, ...node.children.map(draw)));
