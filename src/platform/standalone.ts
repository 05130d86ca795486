/**
 * Whether Node and gmn are one executable file. Such a process has no script of its own, and starting its program with
 * Node's flags would start gmn, not Node.
 */
export function isStandalone({ argv, execPath }: Pick<NodeJS.Process, 'argv' | 'execPath'> = process): boolean {
  return argv[1] === undefined || argv[1] === execPath;
}
