import type { Flag } from '../table/command.ts';
import { SHELLS } from './shells.ts';

/** What gmn is asked for: `tools` are those of the server named before, and where no `templates` fits a file may be one. */
type Asked = 'models' | 'sessions' | 'servers' | 'keys' | 'templates' | 'tools';

/**
 * What may stand in a place of the command line: one of some words, a path, something gmn is asked for (`gmn __complete`),
 * anything at all, or what is for another program (`rest`), flags and all.
 */
export type Values =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'ask'; readonly what: Asked }
  | { readonly kind: 'files' | 'directories' | 'free' | 'rest' };

const FREE: Values = { kind: 'free' };
const FILES: Values = { kind: 'files' };
const DIRECTORIES: Values = { kind: 'directories' };

/** What the placeholders of help stand for: `--model <id>`, `<session> [file]`. A test finds one that is missing here. */
export const PLACEHOLDERS: Readonly<Record<string, Values>> = {
  path: FILES,
  file: FILES,
  schema: FILES,
  dir: DIRECTORIES,
  dirs: DIRECTORIES,
  id: { kind: 'ask', what: 'models' },
  session: { kind: 'ask', what: 'sessions' },
  server: { kind: 'ask', what: 'servers' },
  servers: { kind: 'ask', what: 'servers' },
  key: { kind: 'ask', what: 'keys' },
  template: { kind: 'ask', what: 'templates' },
  tool: { kind: 'ask', what: 'tools' },
  shell: { kind: 'words', words: SHELLS },
  args: { kind: 'rest' },
  prompt: FREE,
  text: FREE,
  name: FREE,
  names: FREE,
  type: FREE,
  set: FREE,
  spec: FREE,
  duration: FREE,
  number: FREE,
  n: FREE,
  port: FREE,
  age: FREE,
  groups: FREE,
  json: FREE,
  object: FREE,
  version: FREE,
  ms: FREE,
  'K=V': FREE,
  'K: V': FREE,
  'k=v': FREE,
  uri: FREE,
  commandOrUrl: FREE,
  urlOrCommand: FREE,
};

/** What a flag takes from the next word; undefined for a switch, and where the value may be left out. */
export function flagValues({ value, isOptional, choices, suggestions }: Flag): Values | undefined {
  if (value === undefined || isOptional) return undefined;
  const words = choices ?? suggestions;
  return words === undefined ? placeholderValues(value) : { kind: 'words', words };
}

/** What a placeholder stands for; anything if it is not in the list. */
export function placeholderValues(name: string): Values {
  return Object.hasOwn(PLACEHOLDERS, name) ? (PLACEHOLDERS[name] ?? FREE) : FREE;
}
