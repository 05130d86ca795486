import type { markdownStream, Page } from './markdown/stream.ts';

/** Loads the Markdown code (marked, chalk, string-width) only when needed. */
export async function openMarkdown(page: Page): Promise<ReturnType<typeof markdownStream>> {
  return (await import('./markdown/stream.ts')).markdownStream(page);
}
