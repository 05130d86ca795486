/** The system's error code (`ENOENT`); empty if it is not a system error. */
export function errorCode(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
}

export function errorReason(thrown: unknown): string {
  return errorCode(thrown) || (thrown instanceof Error ? thrown.message : String(thrown));
}

/** Where Bun puts the files inside an executable; on Windows, on a virtual drive. */
const INSIDE = /^(?:\/\$bunfs\/|B:[\\/]~BUN[\\/])/;

/** Such a process has no script on disk, and running `execPath` with Node's flags would start gmn, not Node. */
export function isStandalone({ argv, execPath }: Pick<NodeJS.Process, 'argv' | 'execPath'> = process): boolean {
  const [, script] = argv;
  return script === undefined || script === execPath || INSIDE.test(script);
}

export function systemPlatform(): NodeJS.Platform {
  return process.platform;
}

/** What a person types to set a variable; on Windows that is PowerShell's form. */
export function formatAssignment(name: string, value: string, platform: string = process.platform): string {
  return platform === 'win32' ? `$env:${name} = "${value}"` : `export ${name}=${value}`;
}

/** What a person types to run a command with these variables. */
export function formatWithVariables(
  variables: Readonly<Record<string, string>>,
  command: string,
  platform: string = process.platform,
): string {
  const entries = Object.entries(variables);
  return platform === 'win32'
    ? [...entries.map(([name, value]) => formatAssignment(name, value, platform)), command].join('; ')
    : [...entries.map(([name, value]) => `${name}=${value}`), command].join(' ');
}

export function runtimePath(): string {
  return process.execPath;
}

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** The home directory where HOME is not set. `node:os` is loaded only then. */
export function findUserHome(): string {
  const { homedir, userInfo } = process.getBuiltinModule('node:os');
  return homedir() || userInfo().homedir;
}
