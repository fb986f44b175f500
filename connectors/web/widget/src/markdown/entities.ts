// The named characters of HTML that people write.

const named = 'amp& lt< gt> quot" apos\' nbsp\u00a0 copy© reg® trade™ hellip… mdash— ndash– lsquo‘ rsquo’ ldquo“ rdquo” laquo« raquo» bull• middot· sect§ para¶ deg° plusmn± times× divide÷ ' +
  'frac12½ frac14¼ frac34¾ sup1¹ sup2² sup3³ microµ euro€ pound£ yen¥ cent¢ larr← uarr↑ rarr→ darr↓ harr↔ rArr⇒ lArr⇐ infin∞ ne≠ le≤ ge≥ asymp≈ equiv≡ sum∑ prod∏ radic√ int∫ part∂ nabla∇ forall∀ exist∃ ' +
  'isin∈ notin∉ sub⊂ sup⊃ cap∩ cup∪ and∧ or∨ not¬ empty∅ minus− alphaα betaβ gammaγ deltaδ epsilonε etaη thetaθ lambdaλ muμ piπ rhoρ sigmaσ tauτ phiφ psiψ omegaω DeltaΔ SigmaΣ OmegaΩ ' +
  'auml\u00e4 ouml\u00f6 uuml\u00fc Auml\u00c4 Ouml\u00d6 Uuml\u00dc szlig\u00df eacute\u00e9 egrave\u00e8 agrave\u00e0 ccedil\u00e7 ntilde\u00f1 iexcl¡ iquest¿ hearts♥ check✓ star☆ shy\u00ad zwj\u200d zwnj\u200c';

const characters = new Map(named.split(' ').map((pair) => [/^[A-Za-z]+\d*/.exec(pair)![0], pair.replace(/^[A-Za-z]+\d*/, '')]));

// decode replaces the entities of a text.
export const decode = (text: string): string => text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([A-Za-z]+\d*));/g, (whole, decimal?: string, hex?: string, name?: string) => {
  if (name) return characters.get(name) ?? whole;
  const point = decimal ? Number(decimal) : parseInt(hex!, 16);
  return point > 0 && point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff) ? String.fromCodePoint(point) : '\ufffd';
});
