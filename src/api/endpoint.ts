import { AppError } from '../core/error.ts';
import { isLoopback } from '../platform/proxy-choice.ts';

/**
 * The base URL a setting names: https, or http on this machine only, since a credential goes there.
 * Throws AppError `config`, naming `source`.
 */
export function checkEndpoint(value: string, source: string): URL {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const hint = `Example: ${source}=https://gateway.example.com`;
  if (url === undefined || url.hostname === '') throw new AppError('config', `${source} is not a URL`, { hint });
  if (url.username !== '' || url.password !== '') {
    throw new AppError('config', `${source} must not hold a user name or password`, { hint });
  }
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))) return url;
  throw new AppError('config', `${source} must be an https URL (http only on this machine)`, { hint });
}

/** `base` with `path` after whatever path it has; a query or fragment of the base is dropped. */
export function endpointUrl(base: URL, path: string): URL {
  const url = new URL(base);
  url.search = '';
  url.hash = '';
  url.pathname = '';
  return new URL(`${url.href.replace(/\/$/, '')}${base.pathname.replace(/\/+$/, '')}/${path}`);
}

/**
 * A model id as it stands in a URL path: `models/<id>`, or `tunedModels/<id>` if it says so itself.
 * Throws AppError `usage` for an id that would lead elsewhere.
 */
export function modelPath(model: string): string {
  const [, collection = 'models', id = ''] = /^(?:(models|tunedModels)\/)?(.*)$/s.exec(model) ?? [];
  if (/^[\w@-][\w.@:-]*$/.test(id) && !id.includes('..')) return `${collection}/${encodeURIComponent(id)}`;
  throw new AppError('usage', `"${model.slice(0, 100)}" is not a model id`, {
    hint: 'gmn models lists the known ones.',
  });
}
