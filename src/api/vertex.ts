import { AppError } from '../core/error.ts';
import { type Backend, backendOf, checkedModelId, endpointUrl, type Identity, isProject } from './backend.ts';

const API_VERSION = 'v1beta1';

/** Where Vertex AI is asked. */
export interface VertexPlace {
  /** Absent: the express mode, which knows the project by its key. */
  readonly site?: VertexSite;
  /** Already checked; Google's own for the location if absent. */
  readonly baseUrl?: URL;
  /** Already checked; `v1beta1` if absent. */
  readonly apiVersion?: string;
  readonly userAgent: string;
}

interface VertexSite {
  readonly project: string;
  readonly location: string;
}

/**
 * Project and location as they may stand in a URL. Throws AppError `config`, naming the variable, if one is missing or is
 * none: a location becomes part of the host name a token is sent to.
 */
export function vertexSite(project: string | undefined, location: string | undefined): VertexSite {
  if (!project) throw missing('GOOGLE_CLOUD_PROJECT', 'your project’s id');
  if (!location) throw missing('GOOGLE_CLOUD_LOCATION', 'a region such as us-central1, or global');
  if (!isProject(project)) throw impossible('GOOGLE_CLOUD_PROJECT', 'a project');
  if (!/^[a-z][a-z\d-]{0,40}$/.test(location)) throw impossible('GOOGLE_CLOUD_LOCATION', 'a location');
  return { project, location };
}

function missing(name: string, what: string): AppError {
  return new AppError('config', `Vertex AI needs ${name}`, {
    hint: `Set ${name} to ${what}, or GOOGLE_API_KEY to a Vertex express key.`,
  });
}

function impossible(name: string, what: string): AppError {
  return new AppError('config', `${name} cannot be the name of ${what}`, { hint: `Mend or unset ${name}.` });
}

/** A URL of Vertex AI below the version. https://cloud.google.com/vertex-ai/docs/reference/rest#service-endpoint */
export function vertexUrl({ site, baseUrl, apiVersion = API_VERSION }: VertexPlace, path: string): URL {
  return endpointUrl(baseUrl ?? new URL(hostOf(site?.location ?? 'global')), `${apiVersion}/${path}`);
}

function hostOf(location: string): string {
  if (location === 'global') return 'https://aiplatform.googleapis.com';
  // The multi-regions have addresses of their own kind.
  if (location === 'us' || location === 'eu') return `https://aiplatform.${location}.rep.googleapis.com`;
  return `https://${location}-aiplatform.googleapis.com`;
}

/**
 * The path of a model: Google's unless it names another publisher, `publishers/<name>/models/<id>`.
 * Throws AppError `usage` for an id that would lead elsewhere.
 */
export function vertexModelPath({ site }: Pick<VertexPlace, 'site'>, model: string): string {
  const [, named, id = ''] = /^(?:publishers\/([a-z\d-]+)\/models\/|models\/)?(.*)$/s.exec(model) ?? [];
  // `@` parts a model from its version and stays readable; a colon would begin the method.
  const path = `publishers/${named ?? 'google'}/models/${checkedModelId(id, model).replaceAll(':', '%3A')}`;
  return site === undefined ? path : `projects/${site.project}/locations/${site.location}/${path}`;
}

/** Vertex AI, with the token of an account or an express key. */
export function vertex(place: VertexPlace, identity: Identity): Backend {
  const { site } = place;
  return backendOf({
    name: 'vertex',
    identity,
    userAgent: place.userAgent,
    draft: ({ model, contents, systemInstruction, tools, safetySettings, generationConfig }) => ({
      url: vertexUrl(place, `${vertexModelPath(place, model)}:streamGenerateContent?alt=sse`),
      body: { contents, systemInstruction, tools, safetySettings, generationConfig },
    }),
    ...(site === undefined ? {} : { notFoundHint: () => elsewhereHint(site) }),
  });
}

function elsewhereHint({ location }: VertexSite): string {
  return `It may not be served in ${location}: choose another with -m, or set GOOGLE_CLOUD_LOCATION=global`;
}
