import type { App } from '../core/app.ts';

/** The flags of a one-shot that are commands of their own, and those that shape what they print. */
export interface SessionFlags {
  readonly deleteSession?: string;
  readonly outputFormat?: string;
  readonly quiet?: boolean;
}

/** `--list-sessions` and `--delete-session`, which do what the commands of these names do. */
export async function runSessionFlag(options: SessionFlags, app: App): Promise<number> {
  const { outputFormat, deleteSession, quiet = false } = options;
  const print = { json: outputFormat === 'json' || outputFormat === 'stream-json', quiet };
  if (deleteSession === undefined) return (await import('./sessions-list.ts')).run(print, app);
  return (await import('./sessions-delete.ts')).run({ ...print, args: [deleteSession] }, app);
}
