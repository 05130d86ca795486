import type { NamedServer, ServerDefinition } from './definition.ts';

export const MAX_SERVER_MESSAGE_BYTES = 16_000_000;

const START_MS = 30_000;
/** A download must have time to finish: stopping an installer half way leaves a broken cache. */
const INSTALL_MS = 180_000;
const LIST_MS = 30_000;

/** The flag if given, else the default or the server's own `timeout`, whichever is shorter. */
export function toStartTimeout({ definition, limitMs }: NamedServer): number {
  return limitMs ?? Math.min(mayDownload(definition) ? INSTALL_MS : START_MS, definition.timeoutMs);
}

export function toListTimeout({ definition, limitMs }: NamedServer): number {
  return limitMs ?? Math.min(LIST_MS, definition.timeoutMs);
}

/** Programs that download what they run, and the subcommands that do; an empty list means always. */
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

function mayDownload(definition: ServerDefinition): boolean {
  if (definition.kind !== 'stdio') return false;
  const line = [definition.command, ...definition.args];
  // Settings for Windows often say `cmd /c npx …`.
  const [program = '', ...args] = toProgramName(line[0]) === 'cmd' ? line.slice(2) : line;
  const name = toProgramName(program);
  const subcommands = Object.hasOwn(INSTALLERS, name) ? INSTALLERS[name] : undefined;
  return subcommands !== undefined && (subcommands.length === 0 || args.some((word) => subcommands.includes(word)));
}

function toProgramName(command = ''): string {
  return (command.split(/[\\/]/).at(-1) ?? '').replace(/\.(?:cmd|exe|bat|ps1)$/i, '');
}

export const MAX_PAGES = 64;

export const MAX_ITEMS = 2000;

/** After this many responses to no request, or invalid messages, gmn closes the connection. */
export const MAX_STRAY_MESSAGES = 100;

export const STRAY_REASON = `${MAX_STRAY_MESSAGES} of its messages were answers to nothing, or none at all`;

/** Lines on stdout that are no messages; many servers log there. */
export const MAX_NOISE_LINES = 10_000;

export const MAX_SERVER_TEXT = 1000;
