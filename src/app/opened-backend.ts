import type { Backend, Identity } from '../api/backend.ts';
import type { Queries } from '../api/queries.ts';
import type { App, Settings } from '../core/app.ts';
import type { AuthScheme } from '../core/credential.ts';
import { AppError } from '../core/error.ts';
import { checkEndpoint } from '../core/text/url.ts';
import type { Backend as BackendName } from '../models/table.ts';

export interface OpenedBackend {
  readonly name: BackendName;
  readonly backend: Backend;
  readonly retryBaseMs: number;
  readonly inquiries: () => Promise<Queries>;
}

export interface BackendContext {
  readonly app: App;
  readonly settings: Settings;
  readonly identity: Identity;
  readonly carrier: AuthScheme;
  /** `Credential.account`, determined on demand. */
  readonly account: () => string;
  readonly userAgent: string;
  readonly retryBaseMs: number;
}

/**
 * The endpoint set by an environment variable, if any. Reads the real environment, not `settings.env`. Throws AppError
 * `config` if a credential must not be sent there.
 */
export function parseEndpoint({ env }: App, name: string): { readonly baseUrl?: URL } {
  const value = env[name];
  return value ? { baseUrl: checkEndpoint(value, name) } : {};
}

/** The API version set by a variable, if any. Throws AppError `config` if it is not safe in a URL path. */
export function parseApiVersion({ env }: Pick<Settings, 'env'>, name: string): { readonly apiVersion?: string } {
  const value = env[name];
  if (!value) return {};
  if (/^v\d\w{0,30}$/.test(value)) return { apiVersion: value };
  throw new AppError('config', `${name} is not an API version`, { hint: `Example: ${name}=v1beta` });
}
