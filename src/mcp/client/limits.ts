/** The longest line, JSON body or event a server may send. */
export const MAX_MESSAGE_BYTES = 16_000_000;

/** How long a server may take to start and answer the greeting; its own `timeout` if that is shorter. */
export const START_MS = 30_000;

/** How long all pages of one list may take; the server's own `timeout` if that is shorter. */
export const LIST_MS = 30_000;

/** The longest time a timer takes: a longer one would fire at once. */
export const NEVER_MS = 2 ** 31 - 1;

/** Pages of one list that are asked for. */
export const MAX_PAGES = 64;

/** Items of one list that are kept. */
export const MAX_ITEMS = 2000;

/** Answers to nothing and the like: after so many the server is left. */
export const MAX_NONSENSE = 100;

/** Why it was left then. */
export const STRAY_WORDS = `${MAX_NONSENSE} of its messages were answers to nothing, or none at all`;

/** Lines on a program's standard output that are no message at all; many a server logs there. */
export const MAX_NOISE_LINES = 10_000;

/** What is shown to a person of a server's own words. */
export const MAX_WORDS = 1000;
