import { chooseCredential } from '../auth/credential.ts';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { openBackend } from '../engine/model/backend.ts';
import { type ListingOwner, tryParseTier } from '../models/listing.ts';
import type { Backend } from '../models/table.ts';
import { createNoticeCollector } from './notice-collector.ts';
import type { PrintOptions } from './report.ts';

export interface AccountOptions extends PrintOptions {
  readonly auth?: string;
  readonly backend?: Backend;
}

/** The backend for commands that ask no model. Throws AppError `config`, `auth` or `usage`. */
export async function openAccount(options: AccountOptions, app: App, { isRehearsal = false } = {}) {
  const { notify, take } = createNoticeCollector(options, app);
  const settings = await app.settings();
  const choice = await chooseCredential({ ...app, flag: options.auth, settings, isRehearsal, notify });
  const opened = await openBackend(choice, { app, settings, wanted: options.backend, notify });
  /** Those so far that were not printed. */
  const takeNotices = (): readonly string[] => [...settings.notices, ...choice.notices, ...take()];
  return { opened, credential: choice.credential, takeNotices };
}

export interface Account extends ListingOwner {
  readonly source: string;
}

/** Undefined without a credential. Sends nothing. Throws AppError for one that cannot be used, as a prompt would. */
export async function findAccount(options: AccountOptions, app: App): Promise<Account | undefined> {
  try {
    const { opened, credential } = await openAccount({ ...options, quiet: true }, app, { isRehearsal: true });
    const { source, account } = credential;
    return { backend: opened.name, source, account, tier: tryParseTier(opened.tier?.()) };
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.fault === 'auth' && thrown.details.isMissing) return undefined;
    throw thrown;
  }
}
