/** The system's word for what failed (`ENOENT`); empty if it is not the system that complains. */
export function errnoOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
}

/** The same for people: the system's word, else what the error itself says. */
export function reasonOf(thrown: unknown): string {
  return errnoOf(thrown) || (thrown instanceof Error ? thrown.message : String(thrown));
}
