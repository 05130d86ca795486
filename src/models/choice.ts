import { AppError } from '../core/error.ts';
import { nearestNames } from '../core/text/names.ts';
import { ALIASES, type Backend, DEFAULT_MODEL, MODELS, modelFacts } from './table.ts';

/** The model a run asks for. */
export interface ModelChoice {
  readonly id: string;
  readonly notices: readonly string[];
  /** Nobody chose it: if it is gone, its successor may take its place. */
  readonly isDefault: boolean;
}

export interface ChoiceContext {
  readonly backend: Backend;
  /** Where the name was given, for people: `-m`, `settings`, … */
  readonly source?: string;
}

/** What the backends can carry in a path; anything else is a mistake, or worse. */
const POSSIBLE = /^[A-Za-z0-9][\w.@:-]*(?:\/[A-Za-z0-9][\w.@:-]*)*$/;

/**
 * Which model a name means on a backend; no name means the default. An alias becomes its model, a name gmn does not know
 * passes with a notice. Throws AppError `usage` if it cannot be a model's name.
 */
export function resolveModel(name: string | undefined, { backend, source }: ChoiceContext): ModelChoice {
  if (name === undefined) return builtIn(DEFAULT_MODEL);
  const wanted = name.startsWith('models/') ? name.slice('models/'.length) : name;
  if (!POSSIBLE.test(wanted)) {
    throw new AppError('usage', `"${name}" cannot be the name of a model${source ? ` (${source})` : ''}`, {
      hint: 'To see the models: gmn models',
    });
  }
  if (/^auto(?:-|$)/.test(wanted)) {
    return {
      id: DEFAULT_MODEL,
      notices: [`model "${wanted}": gmn uses its default, ${DEFAULT_MODEL}`],
      isDefault: true,
    };
  }
  const alias = Object.hasOwn(ALIASES, wanted) ? ALIASES[wanted] : undefined;
  if (alias !== undefined) return { id: alias[backend], notices: [], isDefault: false };
  const isKnown = modelFacts(wanted) !== undefined || wanted.includes('/');
  return { id: wanted, notices: isKnown ? [] : [unknownNotice(wanted)], isDefault: false };
}

/** The choice of a model that nobody named. */
export function builtIn(id: string): ModelChoice {
  return { id, notices: [], isDefault: true };
}

function unknownNotice(name: string): string {
  const near = nearestNames(name, [...MODELS.map(({ id }) => id), ...Object.keys(ALIASES)]);
  const question = near.length > 0 ? `. Did you mean ${near.join(' or ')}?` : '';
  return `gmn does not know the model "${name}"; it is asked for all the same${question}`;
}
