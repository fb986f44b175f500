// The words of the page. Their keys are the English words; the gateway sends those of other languages with its configuration.

export type Strings = Record<string, string>;

let words: Strings = {};
let language = '';

// speak chooses the language of everything that is drawn from now on.
export function speak(locale: string, strings: Strings): void {
  language = locale;
  words = strings;
}

// locale returns the chosen language, for Intl; undefined is the browser's.
export const locale = (): string | undefined => language || undefined;

// direction is how the page's own words run.
export const direction = (): 'ltr' | 'rtl' => (/^(ar|fa|he|ur)\b/.test(language) ? 'rtl' : 'ltr');

// t translates a sentence. {name} in it stands for values.name.
export function t(english: string, values: Record<string, string | number> = {}): string {
  return (words[english] ?? english).replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
