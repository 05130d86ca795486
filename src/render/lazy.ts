import type { markdownStream, Page } from './markdown/stream.ts';

/** Loads the Markdown chunk (marked, chalk, string-width) and opens a page in it. */
export async function openMarkdown(page: Page): Promise<ReturnType<typeof markdownStream>> {
  return (await import('./markdown/stream.ts')).markdownStream(page);
}
