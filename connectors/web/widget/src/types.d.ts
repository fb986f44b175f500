declare module '*.css' {
  const text: string;
  export default text;
}
declare module 'temml' {
  const temml: { render(tex: string, node: Element, options: Record<string, unknown>): void };
  export default temml;
}
// The files that are loaded when they are first needed.
declare const MARKDOWN: string;
declare const MORE: string;
declare const MATH: string;
declare const CHARACTERS: string;
declare const HIGHLIGHT: string;
