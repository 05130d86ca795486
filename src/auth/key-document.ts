import { isAbsolute, join } from 'node:path';
import { AppError, serverError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import { isObject } from '../core/json.ts';
import { checkEndpoint, isLoopback } from '../core/text/url.ts';
import { formatWithVariables } from '../platform/runtime/system.ts';

export interface KeyDocument {
  readonly source: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** https://cloud.google.com/docs/authentication/application-default-credentials#personal */
export function findGcloudPath(env: Env): string | undefined {
  const directory =
    env.CLOUDSDK_CONFIG ||
    (env.APPDATA ? join(env.APPDATA, 'gcloud') : env.HOME ? join(env.HOME, '.config', 'gcloud') : undefined);
  return directory !== undefined && isAbsolute(directory)
    ? join(directory, 'application_default_credentials.json')
    : undefined;
}

const REQUIRED_FIELDS: Readonly<Record<string, readonly string[]>> = {
  service_account: ['client_email', 'private_key'],
  authorized_user: ['client_id', 'client_secret', 'refresh_token'],
  impersonated_service_account: ['service_account_impersonation_url'],
};

export const IMPERSONATED = 'impersonated_service_account';

/** Before anything in it is used. Throws AppError `auth`, or `config` for an address that is not Google's. */
export function checkKeyDocument({ source, value }: KeyDocument): void {
  const type = value.type ?? 'service_account';
  const needed = typeof type === 'string' && Object.hasOwn(REQUIRED_FIELDS, type) ? REQUIRED_FIELDS[type] : undefined;
  if (needed === undefined) throw unsupportedTypeError(source, type);
  checkAddresses(source, value, '');
  for (const key of needed) {
    if (typeof value[key] !== 'string' || value[key].trim() === '') throw missingFieldError(source, key);
  }
  if (type !== IMPERSONATED) return;
  if (findTargetAccount(value) === undefined) throw missingFieldError(source, 'service_account_impersonation_url');
  if (!isObject(value.source_credentials)) throw missingFieldError(source, 'source_credentials');
  if (value.source_credentials.type === IMPERSONATED)
    throw unsupportedTypeError(source, 'impersonation of an impersonation');
  checkKeyDocument({ source: `${source}: source_credentials`, value: value.source_credentials });
}

export function findTargetAccount(value: KeyDocument['value']): string | undefined {
  const { service_account_impersonation_url: url } = value;
  return typeof url === 'string' ? /\/([^/]{1,200}):generateAccessToken$/.exec(url)?.[1] : undefined;
}

function checkAddresses(source: string, value: unknown, path: string): void {
  if (typeof value === 'string') {
    if (/(?:url|uri)$/i.test(path) || /^\s*[a-z][a-z0-9+.-]*:\/\//i.test(value)) checkAddress(value, source, path);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) checkAddresses(source, inner, path === '' ? key : `${path}.${key}`);
}

function checkAddress(text: string, source: string, path: string): void {
  const name = `${path} in ${source}`;
  const { hostname } = checkEndpoint(text, name);
  if (isLoopback(hostname) || /(?:^|\.)(?:googleapis|google)\.com$/.test(hostname)) return;
  throw new AppError('config', `${name} is not one of Google's addresses, but at ${hostname}`, {
    hint: 'Credentials are sent nowhere else. Download the file again, or name another.',
  });
}

/** Google's library exchanges other types over its own transport, which follows redirects with the token. */
function unsupportedTypeError(source: string, type: unknown): AppError {
  const name = typeof type === 'string' && /^[\w ]{1,60}$/.test(type) ? type : 'unknown';
  return serverError('auth', `${source} is of a type that gmn does not support (${name})`, {
    hint: `Let gcloud get a token: ${formatWithVariables(
      { GOOGLE_GENAI_USE_GCA: 'true', GOOGLE_CLOUD_ACCESS_TOKEN: '$(gcloud auth print-access-token)' },
      'gmn --auth oauth-personal …',
    )}`,
  });
}

function missingFieldError(source: string, key: string): AppError {
  return serverError('auth', `${source} is incomplete: ${key} is missing or wrong`, {
    hint: 'Download the key file again, or run: gcloud auth application-default login',
  });
}
