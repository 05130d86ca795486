/** A program with its arguments and environment, as the system starts it. */
export interface ProgramStart {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The same, with what its descriptors 3, 4, … have to read. */
export interface ConfinedStart extends ProgramStart {
  readonly inputs: readonly Uint8Array[];
  /** Is called when the program has ended, or could not be started. */
  readonly onEnd?: () => void;
}

/**
 * Turns a program into one that starts the same program inside a sandbox. Call it right before the start: what it found may have changed
 * later. Throws AppError `config`.
 */
export type Confine = (start: ProgramStart) => ConfinedStart;

/** What confines programs: an engine for each system, and containers. */
export const ENGINE_NAMES = ['bwrap', 'unshare', 'seatbelt', 'docker', 'podman'] as const;

export type EngineName = (typeof ENGINE_NAMES)[number];
