import type { Io } from '../core/io.ts';
import type { LiveArea, LiveOptions } from './live.ts';
import type { MarkdownPage, MarkdownStream } from './markdown/stream.ts';

export async function openMarkdown(page: MarkdownPage): Promise<MarkdownStream> {
  return (await import('./markdown/stream.ts')).markdownStream(page);
}

export async function loadLive(io: Io, options?: LiveOptions): Promise<LiveArea> {
  return (await import('./live.ts')).openLive(io, options);
}
