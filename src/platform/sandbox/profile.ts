/**
 * What a confined command may see and do, as data: each engine only translates it. All paths are absolute and free of links, and exist.
 */
export interface SandboxProfile {
  /** Directories that may be written; none is inside another. */
  readonly writable: readonly string[];
  /** Inside of those, may be written, but neither moved nor removed; what is around comes first. */
  readonly pinned: readonly string[];
  /** Inside of those, and not to be written. */
  readonly protected: readonly string[];
  /** Directories in whose place there is an empty one that may be written, and is gone afterwards. */
  readonly hidden: readonly string[];
  /** Inside of those, and shown; not to be written. */
  readonly shown: readonly string[];
  /** Directories and files of which nothing is shown, whatever else is said about what is around them. */
  readonly secretDirectories: readonly string[];
  readonly secretFiles: readonly string[];
  readonly network: SandboxNetwork;
}

/**
 * `all`: as if there were no sandbox, but no unix sockets. `proxy`: what a proxy outside allows. It listens on a unix socket, which a
 * relay inside makes a port of the sandbox's own loopback; or on a port, for an engine that has no network of its own.
 */
export type SandboxNetwork =
  | { readonly kind: 'none' }
  | { readonly kind: 'all' }
  | { readonly kind: 'proxy'; readonly socket: string; readonly port: number };
