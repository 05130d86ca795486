import { serveSearch } from './tools/search/worker.ts';

/** What the threads of `tools/search/engine.ts` run. */
serveSearch();
