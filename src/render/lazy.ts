import type { Page } from './markdown/stream.ts';
import type { Presentation } from './presentation.ts';

/** Loads the Markdown chunk (marked, chalk, string-width) and opens a page in it. */
export async function openMarkdown(page: Page): Promise<Presentation> {
  return (await import('./markdown/stream.ts')).markdownStream(page);
}
