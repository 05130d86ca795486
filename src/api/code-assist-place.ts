import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import { endpointUrl, isProject } from './endpoint.ts';

const CODE_ASSIST_URL = 'https://cloudcode-pa.googleapis.com';
const API_VERSION = 'v1internal';

/** Where Code Assist is. */
export interface CodeAssistPlace {
  /** Already checked; Google's own if absent. */
  readonly baseUrl?: URL;
  /** Already checked; `v1internal` if absent. */
  readonly apiVersion?: string;
}

/** The URL of a method (`:loadCodeAssist`) or an operation (`/operations/…`) of Code Assist. */
export function codeAssistUrl({ baseUrl, apiVersion = API_VERSION }: CodeAssistPlace, rest: string): URL {
  return endpointUrl(baseUrl ?? new URL(CODE_ASSIST_URL), `${apiVersion}${rest}`);
}

/** What an account is at Code Assist. */
export interface Enrolment {
  /** The project its requests are charged to. */
  readonly project: string;
  readonly tier: string;
}

/**
 * The project the environment names. Throws AppError `config` for what cannot be one, and for a project number, which
 * Code Assist does not take.
 */
export function projectFrom(env: Env): string | undefined {
  const name = env.GOOGLE_CLOUD_PROJECT ? 'GOOGLE_CLOUD_PROJECT' : 'GOOGLE_CLOUD_PROJECT_ID';
  const project = env[name];
  if (!project) return undefined;
  if (!isProject(project)) {
    throw new AppError('config', `${name} cannot be the name of a project`, { hint: `Mend or unset ${name}.` });
  }
  if (!/^\d+$/.test(project)) return project;
  throw new AppError('config', `${name} is a project number (${project}); Code Assist takes only a project id`, {
    hint: `Set ${name} to the id, e.g. my-project-123. To see yours: gcloud projects list`,
  });
}
