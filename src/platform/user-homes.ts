import type { Env } from '../core/io.ts';
import { realPath } from './real-path.ts';
import { systemUser } from './system-user.ts';

/** The directories that are this person's home, free of links: what HOME says, and what the system knows. Never throws. */
export function userHomes(env: Env): readonly string[] {
  return [env.HOME, systemHome()].flatMap((home) =>
    home === undefined || home === '' ? [] : (realPath(home) ?? home),
  );
}

let known: { readonly home: string | undefined } | undefined;

function systemHome(): string | undefined {
  // It is the same for as long as this process runs; a server asks with every call.
  known ??= { home: homeOfUser() };
  return known.home;
}

function homeOfUser(): string | undefined {
  try {
    return systemUser().homedir;
  } catch {
    // A user without an entry in the password file.
    return undefined;
  }
}
