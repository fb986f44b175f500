// The named characters of HTML that people write most.

export const table = (named: string): Map<string, string> => new Map(named.split(' ').map((pair) => [/^[A-Za-z]+\d*/.exec(pair)![0], pair.replace(/^[A-Za-z]+\d*/, '')]));

const characters = table('amp& lt< gt> quot" apos\' nbsp\u00a0 copy© hellip… mdash— ndash– middot· deg° times× euro€ larr← rarr→');

// decode replaces the entities of a text. other returns the character of a name that is not among the common ones.
export const decode = (text: string, other?: (name: string) => string | undefined): string => text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([A-Za-z]+\d*));/g, (whole, decimal?: string, hex?: string, name?: string) => {
  if (name) return characters.get(name) ?? other?.(name) ?? whole;
  const point = decimal ? Number(decimal) : parseInt(hex!, 16);
  return point > 0 && point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff) ? String.fromCodePoint(point) : '\ufffd';
});
