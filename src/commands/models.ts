import { createModelsReport } from '../app/models-report.ts';
import { type PrintOptions, printReport, type Report } from '../app/report.ts';
import type { App } from '../core/app.ts';
import { formatDuration } from '../core/text/format.ts';
import {
  cacheListing,
  filterUsable,
  isListingOf,
  type ListingOwner,
  listKnownModels,
  type ModelListing,
  mergeListed,
  readListing,
} from '../models/listing.ts';

interface ModelsOptions extends PrintOptions {
  readonly args: readonly string[];
  readonly refresh?: boolean;
  readonly all?: boolean;
  readonly auth?: string;
}

/** The service that a prompt would go to, and whose models it would use. */
interface Account extends ListingOwner {
  /** `Credential.source` */
  readonly source: string;
}

/**
 * Lists the models that this backend has and, as of the last `--refresh`, this account can use; all that gmn knows with
 * `--all`, or if there is no credential. Sends requests only with `--refresh`.
 */
export async function run(options: ModelsOptions, app: App): Promise<number> {
  const { listing, notices } = options.refresh
    ? await refreshModels(options, app)
    : { listing: readListing(app), notices: [] };
  const account = listing !== undefined && options.refresh ? listing : await findAccount(options, app);
  const report = createReport({ listing, account, isAll: options.all ?? false }, app);
  await printReport({ ...report, notices, folds: true }, options, app);
  return 0;
}

interface Shown {
  readonly listing: ModelListing | undefined;
  /** Undefined without a credential. */
  readonly account: Account | undefined;
  readonly isAll: boolean;
}

function createReport({ listing, account, isAll }: Shown, app: App): Report {
  const own = listing !== undefined && account !== undefined && isListingOf(listing, account) ? listing : undefined;
  const lines = own === undefined ? listKnownModels() : mergeListed(own.models, own.backend);
  const isNarrowed = account !== undefined && !isAll;
  const report = createModelsReport(isNarrowed ? filterUsable(lines, account.backend) : lines);
  const footer = [
    ...(account === undefined && !isAll ? ['All models, since there is no credential; see: gmn auth status\n'] : []),
    ...(isNarrowed ? [`Models of ${account.backend} (${account.source}); of all backends: gmn models --all\n`] : []),
    ...(own === undefined ? [] : [`Listed by ${own.backend} for ${own.source}, ${formatWhen(own, app)}\n`]),
  ].join('');
  return {
    ...report,
    text: report.text + footer,
    narrow: (columns) => `${report.narrow?.(columns) ?? report.text}${footer}`,
    json: {
      ...report.json,
      ...(isNarrowed ? { backend: account.backend } : {}),
      ...(own === undefined
        ? {}
        : { listed: { backend: own.backend, source: own.source, time: new Date(own.time).toISOString() } }),
    },
  };
}

function formatWhen({ time }: ModelListing, { clock }: App): string {
  const age = clock.now() - time;
  return age < 1000 ? 'now' : `${formatDuration(age)} ago`;
}

/** Undefined without a credential. Throws AppError for one that cannot be used, as a prompt would. */
async function findAccount(options: ModelsOptions, app: App): Promise<Account | undefined> {
  try {
    const { opened, credential } = await openService(options, app, { isRehearsal: true, say: () => {} });
    return { backend: opened.name, source: credential.source, account: credential.account };
  } catch (thrown) {
    const { NoCredentialError } = await import('../auth/sources.ts');
    if (thrown instanceof NoCredentialError) return undefined;
    throw thrown;
  }
}

async function openService(
  options: ModelsOptions,
  app: App,
  how: { readonly isRehearsal?: boolean; readonly say: (message: string) => void },
) {
  const { chooseCredential } = await import('../auth/credential.ts');
  const { openBackend } = await import('../app/backend.ts');
  const settings = await app.settings();
  const flag = options.auth === undefined ? {} : { flag: options.auth };
  const choice = await chooseCredential({ ...app, ...flag, settings, ...how });
  const opened = await openBackend(choice, { app, settings });
  return { opened, credential: choice.credential, notices: [...settings.notices, ...choice.notices] };
}

async function refreshModels(
  options: ModelsOptions,
  app: App,
): Promise<{ readonly listing: ModelListing; readonly notices: readonly string[] }> {
  const { openQueries } = await import('../app/queries.ts');
  const said: string[] = [];
  const { opened, credential, notices } = await openService(options, app, { say: (message) => said.push(message) });
  const models = await (await openQueries(opened, app)).listModels(app.signal);
  const { source, account } = credential;
  const listing = { backend: opened.name, source, account, time: app.clock.now(), models };
  await cacheListing(app, listing);
  return { listing, notices: [...notices, ...said] };
}
