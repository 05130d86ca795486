import { chooseCredential } from '../auth/credential.ts';
import type { App } from '../core/app.ts';
import type { Credential } from '../core/credential.ts';
import { type ListingOwner, tryParseTier } from '../models/listing.ts';
import type { Backend } from '../models/table.ts';
import { type OpenedBackend, openBackend } from './backend.ts';

export interface AccountOptions {
  readonly auth?: string;
  readonly backend?: Backend;
}

interface OpenedAccount {
  readonly opened: OpenedBackend;
  readonly credential: Credential;
  readonly notices: readonly string[];
}

/** The backend for commands that ask no model. Throws AppError `config`, `auth` or `usage`. */
export async function openAccount(
  options: AccountOptions,
  app: App,
  how: { readonly isRehearsal?: boolean; readonly notify: (message: string) => void },
): Promise<OpenedAccount> {
  const settings = await app.settings();
  const flag = options.auth === undefined ? {} : { flag: options.auth };
  const choice = await chooseCredential({ ...app, ...flag, settings, ...how });
  const opened = await openBackend(choice, { app, settings, wanted: options.backend, notify: how.notify });
  return { opened, credential: choice.credential, notices: [...settings.notices, ...choice.notices] };
}

export interface Account extends ListingOwner {
  readonly source: string;
}

/** Undefined without a credential. Sends nothing. Throws AppError for one that cannot be used, as a prompt would. */
export async function findAccount(options: AccountOptions, app: App): Promise<Account | undefined> {
  try {
    const { opened, credential } = await openAccount(options, app, { isRehearsal: true, notify: () => {} });
    const { source, account } = credential;
    return { backend: opened.name, source, account, tier: tryParseTier(opened.tier?.()) };
  } catch (thrown) {
    const { NoCredentialError } = await import('../auth/sources.ts');
    if (thrown instanceof NoCredentialError) return undefined;
    throw thrown;
  }
}
