import { AppError } from '../../core/error.ts';
import { ALIASES, MODELS } from '../../models/table.ts';

const POSSIBLE = /^(?:gemini|gemma)-[a-z0-9.-]+$/;
/** What the official CLI has for its default. */
const AUTO = /^auto(?:-gemini-[0-9.]+)?$/;

/** The name of a model that a caller may ask for. Throws AppError `usage` that lists the known ones. */
export function checkedModel<Name extends string | undefined>(name: Name): Name {
  if (name === undefined || POSSIBLE.test(name) || Object.hasOwn(ALIASES, name) || AUTO.test(name)) {
    return name;
  }
  const known = [...MODELS.map(({ id }) => id), ...Object.keys(ALIASES)];
  throw new AppError('usage', `"${name.slice(0, 80)}" is no model`, {
    hint: `Known: ${[...new Set(known)].join(', ')}`,
  });
}
