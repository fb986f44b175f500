// The words of the page. The code has the English ones; the gateway sends those of other languages with its configuration.

export type Strings = Record<string, string>;

let words: Strings = {};
let language = '';

// speak chooses the language of everything that is drawn from now on.
export function speak(asked: string, strings: Strings): void {
  const locale = /^[a-z]{2,3}(-[a-z]{4})?(-[a-z]{2})?/i.exec(asked)?.[0] ?? 'en'; // sites write more, which Intl refuses
  if (language !== locale) words = {};
  language = locale;
  Object.assign(words, strings);
}

// foreign reports whether the language is another one than that of the code.
export const foreign = (): boolean => Object.keys(words).length > 0;

// key is a short name of an English text; the same as the gateway's.
function key(english: string): string {
  let sum = 0;
  for (const c of english) sum = (sum * 31 + c.codePointAt(0)!) % 46656;
  return sum.toString(36);
}

// locale returns the chosen language, for Intl; undefined is the browser's.
export const locale = (): string | undefined => language || undefined;

// direction is how the page's own words run.
export const direction = (): 'ltr' | 'rtl' => (/^(ar|fa|he|ur)\b/.test(language) ? 'rtl' : 'ltr');

// t translates a sentence. {name} in it stands for values.name.
export function t(english: string, values: Record<string, string | number> = {}): string {
  return (words[key(english)] ?? english).replace(/\{(\w+)\}/g, (whole, name: string) => `${values[name] ?? whole}`);
}
