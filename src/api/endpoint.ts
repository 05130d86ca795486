import { AppError } from '../core/error.ts';

/** `base` with `path` after whatever path it has; a query or fragment of the base is dropped. */
export function endpointUrl(base: URL, path: string): URL {
  return new URL(`${base.origin}${base.pathname.replace(/\/+$/, '')}/${path}`);
}

/**
 * A model id as it stands in a URL path: `models/<id>`, or `tunedModels/<id>` if it says so itself.
 * Throws AppError `usage` for an id that would lead elsewhere.
 */
export function modelPath(model: string): string {
  const [, collection = 'models', id = ''] = /^(?:(models|tunedModels)\/)?(.*)$/s.exec(model) ?? [];
  return `${collection}/${encodeURIComponent(checkedModelId(id, model))}`;
}

/** `id`, if it may stand in a path. Throws AppError `usage`, naming the `model` it was taken from, if it would lead elsewhere. */
export function checkedModelId(id: string, model: string): string {
  if (/^[\w@-][\w.@:-]*$/.test(id) && !id.includes('..')) return id;
  throw new AppError('usage', `"${model.slice(0, 100)}" is not a model id`, {
    hint: 'gmn models lists the known ones.',
  });
}

/** Whether a text can be the name of a Google Cloud project: an id, `domain.example:id`, or a number. */
export function isProject(text: string): boolean {
  return /^[a-z\d][a-z\d.:-]{0,100}$/i.test(text);
}
