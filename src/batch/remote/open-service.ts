import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { DAY_MS } from '../../core/text/format.ts';
import type { OpenedModel } from '../../engine/model/model.ts';
import { createUploads } from '../../engine/model/uploads.ts';
import { splitTextLines } from '../../platform/files/chunks.ts';
import { openFileSource } from '../../platform/files/upload-source.ts';
import type { BatchService } from './service.ts';

const MIME_TYPE = 'application/jsonl';

/** Google usually completes a job within a day, and keeps a file for two. */
export const MIN_FILE_LIFE_MS = 1.5 * DAY_MS;

/** The Batch API and the files it needs, for one account. Throws AppError `auth` if the backend takes no batches. */
export async function openBatchService(
  app: App,
  opened: Pick<OpenedModel, 'files' | 'batches' | 'backend' | 'account'>,
  retries: number,
): Promise<BatchService> {
  const { files: openFiles, batches: openJobs } = opened;
  if (openJobs === undefined || openFiles === undefined) throw noBatchesError(opened.backend);
  const [jobs, files] = await Promise.all([openJobs(retries), openFiles(retries)]);
  return {
    jobs,
    async upload(path, name, signal) {
      const source = await openFileSource(path, { name, signal, links: 'never' });
      try {
        // Opened each time: a file of an earlier upload may have been deleted since.
        const uploads = await createUploads(app, { ...opened, files: () => openFiles(retries) });
        return (await uploads.provide(source, MIME_TYPE, { signal, minLifeMs: MIN_FILE_LIFE_MS })).name;
      } finally {
        await source.close();
      }
    },
    getFile: files.get,
    async deleteFile(name, signal) {
      await files.delete(name, signal);
    },
    async *readResults(results, model, signal) {
      const lines = 'inlined' in results ? results.inlined : splitTextLines(files.download(results.fileName, signal));
      for await (const line of lines) {
        const result = await jobs.parseResult(line, model);
        if (result !== undefined) yield result;
      }
    },
  };
}

function noBatchesError(backend: OpenedModel['backend']): AppError {
  const hint = 'Use an API key: gmn auth set-key (https://aistudio.google.com/apikey), or --engine local';
  const why =
    backend === 'vertex'
      ? ': on Vertex AI batches live in Cloud Storage'
      : ', which takes no Google login of the command line';
  return new AppError('auth', `--engine api needs the Gemini API${why}`, { hint });
}
