import { createModelsReport } from '../app/models-report.ts';
import { type PrintOptions, printReport, type Report } from '../app/report.ts';
import type { App } from '../core/app.ts';
import { formatDuration } from '../core/text/format.ts';
import { cacheListing, listKnownModels, type ModelListing, mergeListed, readListing } from '../models/listing.ts';

interface ModelsOptions extends PrintOptions {
  readonly args: readonly string[];
  readonly refresh?: boolean;
  readonly auth?: string;
}

/**
 * Lists the known models, their features and aliases; and, as of the last `--refresh`, which the account can use.
 * Sends requests only with `--refresh`.
 */
export async function run(options: ModelsOptions, app: App): Promise<number> {
  const { listing, notices } = options.refresh
    ? await refreshModels(options, app)
    : { listing: readListing(app), notices: [] };
  await printReport({ ...createListingReport(listing, app), notices, folds: true }, options, app);
  return 0;
}

function createListingReport(listing: ModelListing | undefined, { clock }: App): Report {
  if (listing === undefined) return createModelsReport(listKnownModels());
  const { backend, source, time } = listing;
  const report = createModelsReport(mergeListed(listing.models, backend));
  const age = clock.now() - time;
  const when = age < 1000 ? 'now' : `${formatDuration(age)} ago`;
  const last = `Listed by ${backend} for ${source}, ${when}\n`;
  return {
    ...report,
    text: report.text + last,
    narrow: (columns) => `${report.narrow?.(columns) ?? report.text}${last}`,
    json: { ...report.json, listed: { backend, source, time: new Date(time).toISOString() } },
  };
}

async function refreshModels(
  options: ModelsOptions,
  app: App,
): Promise<{ readonly listing: ModelListing; readonly notices: readonly string[] }> {
  const { chooseCredential } = await import('../auth/credential.ts');
  const { openBackend } = await import('../app/backend.ts');
  const { openQueries } = await import('../app/queries.ts');
  const settings = await app.settings();
  const said: string[] = [];
  const flag = options.auth === undefined ? {} : { flag: options.auth };
  const choice = await chooseCredential({ ...app, ...flag, settings, say: (message) => said.push(message) });
  const opened = await openBackend(choice, { app, settings });
  const models = await (await openQueries(opened, app)).listModels(app.signal);
  const { source } = choice.credential;
  const listing = { backend: opened.name, source, time: app.clock.now(), models };
  await cacheListing(app, listing);
  return { listing, notices: [...settings.notices, ...choice.notices, ...said] };
}
