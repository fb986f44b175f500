// The other named characters of HTML that people write. They are loaded when a text has one.

import { table } from './entities';

export const characters = table('reg® trade™ lsquo‘ rsquo’ ldquo“ rdquo” laquo« raquo» bull• sect§ para¶ plusmn± divide÷ frac12½ frac14¼ frac34¾ sup1¹ sup2² sup3³ microµ pound£ yen¥ ' +
  'cent¢ uarr↑ darr↓ harr↔ rArr⇒ lArr⇐ infin∞ ne≠ le≤ ge≥ asymp≈ equiv≡ sum∑ prod∏ radic√ int∫ part∂ nabla∇ forall∀ exist∃ isin∈ notin∉ sub⊂ sup⊃ cap∩ ' +
  'cup∪ and∧ or∨ not¬ empty∅ minus− alphaα betaβ gammaγ deltaδ epsilonε etaη thetaθ lambdaλ muμ piπ rhoρ sigmaσ tauτ phiφ psiψ omegaω DeltaΔ SigmaΣ ' +
  'OmegaΩ auml\u00e4 ouml\u00f6 uuml\u00fc Auml\u00c4 Ouml\u00d6 Uuml\u00dc szlig\u00df eacute\u00e9 egrave\u00e8 agrave\u00e0 ccedil\u00e7 ntilde\u00f1 ' +
  'iexcl¡ iquest¿ hearts♥ check✓ star☆ shy\u00ad zwj\u200d zwnj\u200c');
