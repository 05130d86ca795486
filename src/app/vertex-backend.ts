import { parseVertexProject, vertex } from '../api/vertex.ts';
import { type BackendContext, type OpenedBackend, parseApiVersion, parseEndpoint } from './opened-backend.ts';

/**
 * Vertex AI: with a token for a project, with a key in express mode. Throws AppError `config`, naming what is missing.
 */
export function openVertex(context: BackendContext): OpenedBackend {
  const { app, settings, identity, carrier, userAgent } = context;
  const { env } = settings;
  const project = env.GOOGLE_CLOUD_PROJECT || env.GOOGLE_CLOUD_PROJECT_ID;
  const place = {
    userAgent,
    ...parseEndpoint(app, 'GOOGLE_VERTEX_BASE_URL'),
    ...parseApiVersion(settings, 'GOOGLE_GENAI_API_VERSION'),
    ...(carrier === 'key' ? {} : { site: parseVertexProject(project, env.GOOGLE_CLOUD_LOCATION) }),
  };
  return {
    name: 'vertex',
    retryBaseMs: context.retryBaseMs,
    backend: vertex(place, identity),
    async inquiries() {
      const { vertexQueries } = await import('../api/queries.ts');
      return vertexQueries(place, { identity, userAgent, send: app.send });
    },
  };
}
