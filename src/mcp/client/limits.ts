import type { NamedServer, ServerDefinition } from './definition.ts';

/** The longest line, JSON body or event a server may send. */
export const MAX_MESSAGE_BYTES = 16_000_000;

const START_MS = 30_000;
/** A program that is first installed has a download before it, and one that is stopped half way leaves a broken cache. */
const INSTALL_MS = 180_000;
const LIST_MS = 30_000;

/** How long a server may take to start and answer the greeting, unless a flag says so; its own `timeout` if that is shorter. */
export function startLimit({ definition, limitMs }: NamedServer): number {
  return limitMs ?? Math.min(isInstalled(definition) ? INSTALL_MS : START_MS, definition.timeoutMs);
}

/** How long all pages of one list may take, in the same way. */
export function listLimit({ definition, limitMs }: NamedServer): number {
  return limitMs ?? Math.min(LIST_MS, definition.timeoutMs);
}

/** Programs that fetch what they run, and their words for it; none: whatever they are told. */
const INSTALLERS: Readonly<Record<string, readonly string[]>> = {
  npx: [],
  bunx: [],
  pnpx: [],
  uvx: [],
  npm: ['exec', 'x', 'init', 'create'],
  pnpm: ['dlx', 'create'],
  yarn: ['dlx', 'create'],
  bun: ['x', 'create'],
  uv: ['run', 'tool'],
  pipx: ['run'],
  deno: ['run'],
  docker: ['run', 'compose'],
  podman: ['run'],
  nix: ['run', 'shell', 'develop'],
  go: ['run'],
  cargo: ['run', 'install'],
  dotnet: ['run', 'tool', 'dnx'],
  dnx: [],
  jbang: [],
};

/** Whether starting it may begin with a download. */
function isInstalled(definition: ServerDefinition): boolean {
  if (definition.kind !== 'stdio') return false;
  const line = [definition.command, ...definition.args];
  // `cmd /c npx …` is how many a setting on Windows says it.
  const [program = '', ...args] = programName(line[0]) === 'cmd' ? line.slice(2) : line;
  const name = programName(program);
  const words = Object.hasOwn(INSTALLERS, name) ? INSTALLERS[name] : undefined;
  return words !== undefined && (words.length === 0 || args.some((word) => words.includes(word)));
}

function programName(command = ''): string {
  return (command.split(/[\\/]/).at(-1) ?? '').replace(/\.(?:cmd|exe|bat|ps1)$/i, '');
}

/** The longest time a timer takes: a longer one would fire at once. */
export const NEVER_MS = 2 ** 31 - 1;

/** Pages of one list that are asked for. */
export const MAX_PAGES = 64;

/** Items of one list that are kept. */
export const MAX_ITEMS = 2000;

/** Answers to nothing and the like: after so many the server is left. */
export const MAX_NONSENSE = 100;

/** Why it was left then. */
export const STRAY_WORDS = `${MAX_NONSENSE} of its messages were answers to nothing, or none at all`;

/** Lines on a program's standard output that are no message at all; many a server logs there. */
export const MAX_NOISE_LINES = 10_000;

/** What is shown to a person of a server's own words. */
export const MAX_WORDS = 1000;
