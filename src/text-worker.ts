import { serveTextJobs } from './platform/process/serve-thread.ts';
import { type BlockJob, layOutBlocks } from './render/markdown/block-layout.ts';
import { loadHighlighter } from './render/markdown/lazy.ts';
import { computePatch, type DiffJob } from './tools/diff.ts';

/** What the thread of `platform/process/text-thread.ts` runs: pure functions on text that may take too long. */
serveTextJobs({
  blocks: async (job: BlockJob) => layOutBlocks(job, job.isStyled ? await loadHighlighter() : undefined),
  diff: ({ name, before, after }: DiffJob) => computePatch(name, before, after, 1500),
});
