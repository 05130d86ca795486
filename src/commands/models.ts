import { type Account, findAccount, openAccount } from '../app/account.ts';
import { createModelsReport } from '../app/models-report.ts';
import { type PrintOptions, printReport, type Report } from '../app/report.ts';
import type { App } from '../core/app.ts';
import { formatDuration } from '../core/text/format.ts';
import { readCachedDefault } from '../models/choice.ts';
import {
  cacheListing,
  filterUsable,
  isListingFor,
  listKnownModels,
  type ModelListing,
  mergeListed,
  readListing,
} from '../models/listing.ts';
import type { Backend } from '../models/table.ts';

interface ModelsOptions extends PrintOptions {
  readonly args: readonly string[];
  readonly refresh?: boolean;
  readonly all?: boolean;
  readonly auth?: string;
  readonly backend?: Backend;
}

/**
 * Lists the models that a backend has and, as of the last `--refresh`, this account can use; all that gmn knows with
 * `--all`, or if neither a credential nor `--backend` names one. Sends requests only with `--refresh`.
 */
export async function run(options: ModelsOptions, app: App): Promise<number> {
  const { listing, notices } = options.refresh ? await refreshModels(options, app) : { listing: readListing(app) };
  const account = listing !== undefined && options.refresh ? listing : await findAccount(options, app);
  const { all: isAll = false, backend } = options;
  const report = createReport({ listing, account, backend, isAll }, app);
  return printReport({ ...report, notices }, options, app);
}

interface Shown {
  readonly listing: ModelListing | undefined;
  readonly account: Account | undefined;
  readonly backend: Backend | undefined;
  readonly isAll: boolean;
}

function createReport({ listing, account, backend = account?.backend, isAll }: Shown, app: App): Report {
  const own = listing !== undefined && account !== undefined && isListingFor(listing, account) ? listing : undefined;
  const lines = own === undefined ? listKnownModels() : mergeListed(own.models, own.backend);
  const usable = backend === undefined || isAll ? lines : filterUsable(lines, { backend, tier: account?.tier });
  const report = createModelsReport(usable, account && readCachedDefault(app, account));
  const footer = [
    ...(isAll ? [] : [`${formatShownModels(backend, account)}\n`]),
    ...(own === undefined ? [] : [`Listed by ${own.backend} for ${own.source}, ${formatWhen(own, app)}\n`]),
  ].join('');
  return {
    ...report,
    text: report.text + footer,
    narrow: (columns) => `${report.narrow?.(columns) ?? report.text}${footer}`,
    json: {
      ...report.json,
      backend: isAll ? undefined : backend,
      tier: backend === undefined || isAll ? undefined : account?.tier,
      listed: own && { backend: own.backend, source: own.source, time: new Date(own.time).toISOString() },
    },
  };
}

function formatShownModels(backend: Backend | undefined, account: Account | undefined): string {
  if (backend === undefined) return 'All models, since there is no credential; see: gmn auth status';
  if (account === undefined) return `Models of ${backend}; there is no credential, see: gmn auth status`;
  const tier = account.tier === undefined ? '' : `, ${account.tier} tier`;
  return `Models of ${backend} (${account.source}${tier}); of all backends: gmn models --all`;
}

function formatWhen({ time }: ModelListing, { clock }: App): string {
  const age = clock.now() - time;
  return age < 1000 ? 'now' : `${formatDuration(age)} ago`;
}

async function refreshModels(
  options: ModelsOptions,
  app: App,
): Promise<{ readonly listing: ModelListing; readonly notices: readonly string[] }> {
  const { createQueries } = await import('../engine/model/queries.ts');
  const { opened, credential, takeNotices } = await openAccount(options, app);
  const models = await (await createQueries(opened, app)).listModels(app.signal);
  const { source, account } = credential;
  const listing = { backend: opened.name, source, account, time: app.clock.now(), models };
  await cacheListing(app, listing);
  return { listing, notices: takeNotices() };
}
