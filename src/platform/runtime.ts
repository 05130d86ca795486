import { realPath } from './files/path.ts';
import { isStandalone } from './runtime/standalone.ts';

/** What runs us. */
export interface Runtime {
  /** Of Node, without a `v`. */
  readonly node: string;
  /** What is inside the executable in the place of Node, with its version; undefined where Node runs us. */
  readonly builtIn: string | undefined;
  readonly platform: string;
  readonly arch: string;
  /** The real path of the program that was started; undefined if it cannot be told. */
  readonly program: string | undefined;
}

/** The Node and the program of this process. Never throws. */
export function thisRuntime(): Runtime {
  const { versions, platform, arch, argv, execPath } = process;
  const isAlone = isStandalone();
  const program = isAlone ? execPath : argv[1];
  return {
    node: versions.node,
    builtIn: isAlone ? `Bun ${versions.bun ?? 'of no known version'}` : undefined,
    platform,
    arch,
    program: program === undefined ? undefined : realPath(program),
  };
}
