const STEP = /\\(?:[a-zA-Z0-9]|([\s\S]))|\[(?:[^\]\\]|\\[\s\S])*\]|\{\d*,?\d*\}|[\s\S]/g;

/** The longest text that every match contains; empty if there is none. No letters with special case mappings. */
export function findRequiredLiteral(source: string, isCaseless: boolean): string {
  // These escapes take more characters than STEP matches.
  if (/\\[xucpk\d]/i.test(source)) return '';
  const runs = [''];
  let depth = 0;
  for (const { 0: step, 1: escaped } of source.matchAll(STEP)) {
    const run = runs.at(-1) ?? '';
    if (step === '|' && depth === 0) return '';
    if (step === '(') depth += 1;
    if (step === ')') depth -= 1;
    if (/^(?:[*?]|\{.*\})$/s.test(step)) runs.splice(-1, 1, run.slice(0, -1), '');
    else if (depth > 0 || !isPlainStep(step, escaped, isCaseless)) runs.push('');
    else runs.splice(-1, 1, run + (escaped ?? step));
  }
  const longest = runs.reduce((best, run) => (run.length > best.length ? run : best), '');
  return longest.length < 3 ? '' : longest;
}

/** Whether a step stands only for itself. Ignoring case, the Kelvin sign is a `k`, and a dotted capital I becomes two characters. */
function isPlainStep(step: string, escaped: string | undefined, isCaseless: boolean): boolean {
  const character = escaped ?? step;
  if (character.length !== 1 || /[\p{Cs}\p{Cc}]/u.test(character)) return false;
  if (escaped === undefined && /[\\^$.*+?()[\]{}|]/.test(step)) return false;
  if (!isCaseless || /^[a-hjl-z]$/i.test(character)) return true;
  return character.toLowerCase() === character.toUpperCase();
}
