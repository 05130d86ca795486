/** The API takes 64. */
const MAX_LENGTH = 63;
const HEAD = 28;
const TAIL = 32;

/** Whose tool it is, under the names that the server and the settings give. */
export interface ToolOrigin {
  readonly server: string;
  readonly tool: string;
}

/**
 * Gives out the names under which the model knows remote tools, in the order it is asked. A tool keeps its own name if
 * nobody had it before; else, and where its name looks like that of a tool of one of `servers`, it is `server__tool`. No
 * name is given twice, none is one of `reserved`, all are such as the API takes.
 */
export function toolNames(reserved: Iterable<string>, servers: readonly string[]): (origin: ToolOrigin) => string {
  const prefixes = servers.map((server) => cleaned(`${server}__`));
  const taken = new Set(reserved);
  const bareNames = new Set(taken);
  return ({ server, tool }) => {
    const bare = cleaned(tool);
    // `files__*` on an allow list means the server files, not whoever calls a tool so.
    const isFree = !bareNames.has(bare) && !prefixes.some((prefix) => bare.startsWith(prefix));
    if (isFree) bareNames.add(bare);
    const name = unused(shortened(isFree ? bare : cleaned(`${server}__${tool}`)), taken);
    taken.add(name);
    return name;
  };
}

function cleaned(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_.-]/gu, '_');
  return /^[A-Za-z_]/.test(plain) ? plain : `_${plain}`;
}

function shortened(name: string): string {
  return name.length > MAX_LENGTH ? `${name.slice(0, HEAD)}___${name.slice(-TAIL)}` : name;
}

function unused(name: string, taken: ReadonlySet<string>): string {
  let found = name;
  for (let number = 2; taken.has(found); number += 1) {
    const suffix = `_${number}`;
    found = `${name.slice(0, MAX_LENGTH - suffix.length)}${suffix}`;
  }
  return found;
}
