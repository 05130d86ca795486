import { realPath } from './real-path.ts';

/** What runs us. */
export interface Runtime {
  /** Of Node, without a `v`. */
  readonly node: string;
  readonly platform: string;
  readonly arch: string;
  /** The real path of the program that was started; undefined if it cannot be told. */
  readonly program: string | undefined;
}

/** The Node and the program of this process. Never throws. */
export function thisRuntime(): Runtime {
  const { versions, platform, arch, argv } = process;
  return { node: versions.node, platform, arch, program: argv[1] === undefined ? undefined : realPath(argv[1]) };
}
