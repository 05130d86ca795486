/** The system's word for what failed (`ENOENT`); empty if it is not the system that complains. */
export function errnoOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
}

/** The same for people: the system's word, else what the error itself says. */
export function reasonOf(thrown: unknown): string {
  return errnoOf(thrown) || (thrown instanceof Error ? thrown.message : String(thrown));
}

/** Where the compiler puts the files that are inside an executable; on Windows, on a drive that there is not. */
const INSIDE = /^(?:\/\$bunfs\/|B:[\\/]~BUN[\\/])/;

/**
 * Whether a runtime and gmn are one executable file. Such a process has no script of its own on the disk, and starting its
 * program with Node's flags would start gmn, not Node.
 */
export function isStandalone({ argv, execPath }: Pick<NodeJS.Process, 'argv' | 'execPath'> = process): boolean {
  const [, script] = argv;
  return script === undefined || script === execPath || INSIDE.test(script);
}
