import type { Backend, Identity } from '../api/backend.ts';
import type { Inquiries } from '../api/queries.ts';
import type { App, Settings } from '../core/app.ts';
import type { Carrier } from '../core/credential.ts';
import { AppError } from '../core/error.ts';
import { checkEndpoint } from '../core/text/url.ts';
import type { Backend as BackendName } from '../models/table.ts';

/** One of Google’s servers, ready to be asked. */
export interface OpenedBackend {
  readonly name: BackendName;
  readonly backend: Backend;
  /** The pause before the first retry. */
  readonly retryBaseMs: number;
  /** What it answers besides model calls. */
  readonly inquiries: () => Promise<Inquiries>;
}

/** What opening one takes. */
export interface BackendContext {
  readonly app: App;
  readonly settings: Settings;
  readonly identity: Identity;
  readonly carrier: Carrier;
  /** `Credential.account`, worked out when it is needed. */
  readonly account: () => string;
  readonly userAgent: string;
  readonly retryBaseMs: number;
}

/** The endpoint a variable of the real environment names, if any. Throws AppError `config` if no credential may go there. */
export function endpointFrom({ env }: App, name: string): { readonly baseUrl?: URL } {
  const value = env[name];
  return value ? { baseUrl: checkEndpoint(value, name) } : {};
}

/** The API version a variable names, if any. Throws AppError `config` for one that could not stand in a path. */
export function versionFrom({ env }: Pick<Settings, 'env'>, name: string): { readonly apiVersion?: string } {
  const value = env[name];
  if (!value) return {};
  if (/^v\d\w{0,30}$/.test(value)) return { apiVersion: value };
  throw new AppError('config', `${name} is not an API version`, { hint: `Example: ${name}=v1beta` });
}
