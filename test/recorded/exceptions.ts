/** Recordings that are not judged, by id, each with the reason. */
export const EXCEPTIONS: ReadonlyMap<string, string> = new Map([]);
