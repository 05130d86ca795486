/** The most that can be sent inline in one request: text and base64 together. */
export const INLINE_LIMIT = 20_000_000;

/** `INLINE_LIMIT` as people write it. */
export const INLINE_LIMIT_NAME = '20 MB';

/** The most files one directory or glob may stand for. */
export const FILE_COUNT_LIMIT = 1000;

/** The most directory entries one walk looks at. */
export const ENTRY_LIMIT = 100_000;
