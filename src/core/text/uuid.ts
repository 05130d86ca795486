/** Whether a text is a UUID, in small letters; then it can be part of a path. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}

/** As much of a session's id as people need: the beginning of a UUID; all of one that somebody gave. */
export function shortId(id: string): string {
  return isUuid(id.toLowerCase()) ? id.slice(0, 8) : id;
}
