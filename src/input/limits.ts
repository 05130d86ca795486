/** The most that can be sent inline in one request: text and base64 together. */
export const INLINE_LIMIT = 20 * 1024 * 1024;

/** `INLINE_LIMIT` as people write it. */
export const INLINE_LIMIT_NAME = '20 MB';

/** The most files one directory or glob may stand for. */
export const FILE_COUNT_LIMIT = 1000;

/** The most directory entries one walk looks at. */
export const ENTRY_LIMIT = 100_000;

/** A number of bytes for people: `512 B`, `3.1 kB`, `20.4 MB`. */
export function formatSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  // 999,950 bytes would otherwise be `1000.0 kB`.
  if (bytes < 999_950) return `${(bytes / 1000).toFixed(1)} kB`;
  if (bytes < 999_950_000) return `${(bytes / 1_000_000).toFixed(1)} MB`;
  return `${(bytes / 1_000_000_000).toFixed(1)} GB`;
}
