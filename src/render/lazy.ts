import type { MarkdownPage, markdownStream } from './markdown/stream.ts';

/** Loads the Markdown code (marked, chalk, string-width) only when needed. */
export async function openMarkdown(page: MarkdownPage): Promise<ReturnType<typeof markdownStream>> {
  return (await import('./markdown/stream.ts')).markdownStream(page);
}
