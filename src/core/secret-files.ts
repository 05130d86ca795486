import { SECRET_NAMES, SECRET_PATTERNS } from './secret-lists.ts';

// Walks ask for many names.
const NAMES: ReadonlySet<string> = new Set(SECRET_NAMES);

/** What editors and people add to the name of a copy. */
const COPY = /(?:~|\.(?:bak|backup|old|orig|save|swp))$/;

/** Whether a file of this name is likely to hold keys or passwords: it goes to a model only when the user says so. */
export function isSecretName(name: string): boolean {
  const folded = name.toLowerCase();
  return isListed(folded) || isListed(folded.replace(COPY, ''));
}

function isListed(name: string): boolean {
  return NAMES.has(name) || SECRET_PATTERNS.some((pattern) => pattern.test(name));
}
