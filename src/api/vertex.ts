import { AppError } from '../core/error.ts';
import {
  type Backend,
  createBackend,
  endpointUrl,
  type Identity,
  isProjectName,
  parseModelId,
  toRequestBody,
} from './backend.ts';

const API_VERSION = 'v1beta1';

export interface VertexEndpoint {
  /** Absent in express mode, where the key determines the project. */
  readonly site?: VertexProject;
  /** Validated by the caller; Google's endpoint for the location if absent. */
  readonly baseUrl?: URL;
  /** Validated by the caller; `v1beta1` if absent. */
  readonly apiVersion?: string;
  readonly userAgent: string;
}

interface VertexProject {
  readonly project: string;
  readonly location: string;
}

/** Throws AppError `config`, naming the variable: the location is part of the host name that gets the token. */
export function parseVertexProject(project: string | undefined, location: string | undefined): VertexProject {
  if (!project) throw missingError('GOOGLE_CLOUD_PROJECT', 'your project’s id');
  if (!location) throw missingError('GOOGLE_CLOUD_LOCATION', 'a region such as us-central1, or global');
  if (!isProjectName(project)) throw invalidNameError('GOOGLE_CLOUD_PROJECT', 'a project');
  if (!/^[a-z][a-z\d-]{0,40}$/.test(location)) throw invalidNameError('GOOGLE_CLOUD_LOCATION', 'a location');
  return { project, location };
}

function missingError(name: string, what: string): AppError {
  return new AppError('config', `Vertex AI needs ${name}`, {
    hint: `Set ${name} to ${what}, or GOOGLE_API_KEY to a Vertex express key.`,
  });
}

function invalidNameError(name: string, what: string): AppError {
  return new AppError('config', `${name} cannot be the name of ${what}`, { hint: `Fix or unset ${name}.` });
}

/** https://cloud.google.com/vertex-ai/docs/reference/rest#service-endpoint */
export function vertexUrl({ site, baseUrl, apiVersion = API_VERSION }: VertexEndpoint, path: string): URL {
  return endpointUrl(baseUrl ?? new URL(toHost(site?.location ?? 'global')), `${apiVersion}/${path}`);
}

function toHost(location: string): string {
  if (location === 'global') return 'https://aiplatform.googleapis.com';
  // Multi-regions have another form of address.
  if (location === 'us' || location === 'eu') return `https://aiplatform.${location}.rep.googleapis.com`;
  return `https://${location}-aiplatform.googleapis.com`;
}

/** Google's unless it names another publisher. Throws AppError `usage` for an id that would lead to another path. */
export function vertexModelPath({ site }: Pick<VertexEndpoint, 'site'>, model: string): string {
  const [, named, id = ''] = /^(?:publishers\/([a-z\d-]+)\/models\/|models\/)?(.*)$/s.exec(model) ?? [];
  // `@` separates model and version and may stay; a colon would start the method name.
  const path = `publishers/${named ?? 'google'}/models/${parseModelId(id, model).replaceAll(':', '%3A')}`;
  return site === undefined ? path : `projects/${site.project}/locations/${site.location}/${path}`;
}

/** How Google's own pages ask for a tier here, besides the field. */
const TIER_HEADER = 'x-vertex-ai-llm-shared-request-type';

export function vertex(place: VertexEndpoint, identity: Identity): Backend {
  const { site } = place;
  return createBackend({
    name: 'vertex',
    identity,
    userAgent: place.userAgent,
    draft: (request) => ({
      url: vertexUrl(place, `${vertexModelPath(place, request.model)}:streamGenerateContent?alt=sse`),
      body: toRequestBody(request),
      headers: request.serviceTier === undefined ? undefined : { [TIER_HEADER]: request.serviceTier },
    }),
    notFoundHint: () =>
      site === undefined || site.location === 'global'
        ? undefined
        : `It may not be served in ${site.location}: choose another with -m, or set GOOGLE_CLOUD_LOCATION=global`,
  });
}
