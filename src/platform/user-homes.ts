import type { Env } from '../core/io.ts';
import { realPath } from './files/path.ts';
import { systemUser } from './runtime/system-user.ts';

/** The directories that are this person's home, free of links: what HOME says, and what the system knows. Never throws. */
export function userHomes(env: Env): readonly string[] {
  return [env.HOME, systemHome()].flatMap((home) =>
    home === undefined || home === '' ? [] : (realPath(home) ?? home),
  );
}

let known: string | undefined;

function systemHome(): string | undefined {
  try {
    // It is the same for as long as this process runs; a server asks with every call.
    known ??= systemUser().homedir;
    return known;
  } catch {
    // A user without an entry in the password file, or a directory service that does not answer now: that is not remembered.
    return undefined;
  }
}
