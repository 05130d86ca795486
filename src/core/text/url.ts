import { AppError } from '../error.ts';

/** For credentials: https, or http on this machine. Throws AppError `config`, without quoting the rest. */
export function checkEndpoint(url: string, source: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined) throw endpointError(source, 'is not a URL');
  if (parsed.username !== '' || parsed.password !== '')
    throw endpointError(source, 'must not contain a user name or password');
  if (parsed.protocol === 'https:' || (parsed.protocol === 'http:' && isLoopback(parsed.hostname))) return parsed;
  throw endpointError(source, `must use https (http only on this machine), not ${parsed.protocol}//${parsed.host}`);
}

/** Strict: a resolver may send `*.localhost` and `localhost.` elsewhere. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

function endpointError(source: string, why: string): AppError {
  return new AppError('config', `${source} ${why}`, {
    hint: 'Credentials are sent nowhere else. Fix or unset it.',
  });
}
