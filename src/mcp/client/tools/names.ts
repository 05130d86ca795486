/** One below the API's limit. */
const MAX_NAME_CHARS = 63;
const HEAD_CHARS = 28;
const TAIL_CHARS = 32;

/** By their own names, as the settings and the server spell them. */
export interface ToolOrigin {
  readonly server: string;
  readonly tool: string;
}

/**
 * Gives each remote tool its name for the model. A tool keeps its own name if that is free and does not look like a
 * tool of one of `servers`; otherwise it becomes `server__tool`. Names are unique, avoid `reserved`, and are valid for
 * the API. The order of the calls matters.
 */
export function createNamer(reserved: Iterable<string>, servers: readonly string[]): (origin: ToolOrigin) => string {
  const prefixes = servers.flatMap((server) => [`${server}__`, `mcp_${server}_`].map(toValidName));
  const taken = new Set(reserved);
  const bareNames = new Set(taken);
  return ({ server, tool }) => {
    const bare = toValidName(tool);
    // `files__*` or `mcp_files_*` on an allow list means the server files, not any tool that calls itself so.
    const isFree = !bareNames.has(bare) && !prefixes.some((prefix) => bare.startsWith(prefix));
    if (isFree) bareNames.add(bare);
    const name = makeUnique(shortenName(isFree ? bare : toValidName(`${server}__${tool}`)), taken);
    taken.add(name);
    return name;
  };
}

function toValidName(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_.-]/gu, '_');
  return /^[A-Za-z_]/.test(plain) ? plain : `_${plain}`;
}

function shortenName(name: string): string {
  return name.length > MAX_NAME_CHARS ? `${name.slice(0, HEAD_CHARS)}___${name.slice(-TAIL_CHARS)}` : name;
}

function makeUnique(name: string, taken: ReadonlySet<string>): string {
  let found = name;
  for (let number = 2; taken.has(found); number += 1) {
    const suffix = `_${number}`;
    found = `${name.slice(0, MAX_NAME_CHARS - suffix.length)}${suffix}`;
  }
  return found;
}
