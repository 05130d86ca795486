import type { JsonObject } from '../../../core/json.ts';
import { formatHelp } from '../help.ts';
import type { Host } from '../host.ts';
import { findJobPage, toPublicJob } from '../jobs/job.ts';
import type { Page } from '../pages.ts';
import { listVisibleSessions, toPublicSession } from '../sessions.ts';

interface Resource {
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: string;
  readonly read: (host: Host) => Promise<string>;
}

const JSON_TYPE = 'application/json';

const RESOURCES: readonly Resource[] = [
  {
    uri: 'gmn://models',
    name: 'models',
    title: 'Models',
    description: 'The models this server knows, what they can do, and their short names.',
    mimeType: JSON_TYPE,
    read: async (host) => formatJson((await host.engine()).describeModels().document),
  },
  {
    uri: 'gmn://capabilities',
    name: 'capabilities',
    title: 'Capabilities',
    description: 'The tools of this server, its roots, and what the model may do there.',
    mimeType: JSON_TYPE,
    read: async (host) => formatJson(describeCapabilities(host)),
  },
  {
    uri: 'gmn://sessions',
    name: 'sessions',
    title: 'Sessions',
    description: 'The saved conversations that can be continued here, newest first.',
    mimeType: JSON_TYPE,
    read: async (host) => formatJson({ sessions: (await listVisibleSessions(host)).map(toPublicSession) }),
  },
  {
    uri: 'gmn://jobs',
    name: 'jobs',
    title: 'Jobs',
    description: 'The delegated jobs, newest first, without their output.',
    mimeType: JSON_TYPE,
    read: async (host) => formatJson({ jobs: (await host.jobs.list()).map((job) => ({ ...job })) }),
  },
  {
    uri: 'gmn://help',
    name: 'help',
    title: 'Help',
    description: 'What this server can do, and its limits.',
    mimeType: 'text/markdown',
    read: async (host) => formatHelp(host),
  },
];

export const RESOURCE_LIST: readonly Omit<Resource, 'read'>[] = RESOURCES.map(({ read: _, ...listed }) => listed);

export const RESOURCE_TEMPLATES = [
  {
    uriTemplate: 'gmn://answers/{id}/{page}',
    name: 'answer-page',
    title: 'Page of a long answer',
    description: 'Where an answer of more than 40,000 characters continues; _meta.next of the answer names it.',
    mimeType: 'text/plain',
  },
  {
    uriTemplate: 'gmn://jobs/{job_id}',
    name: 'job',
    title: 'Job',
    description: 'One delegated job with its output.',
    mimeType: JSON_TYPE,
  },
  {
    uriTemplate: 'gmn://jobs/{job_id}/{page}',
    name: 'job-page',
    title: 'Page of the output of a job',
    description: 'Where an output of more than 2,000,000 characters continues; next of the job names it.',
    mimeType: 'text/plain',
  },
] as const;

export async function readResource(
  host: Host,
  uri: string,
): Promise<(Page & { readonly mimeType: string }) | undefined> {
  const known = RESOURCES.find((resource) => resource.uri === uri);
  if (known !== undefined) return { mimeType: known.mimeType, text: await known.read(host) };
  const page = host.pages.read(uri);
  if (page !== undefined) return { mimeType: 'text/plain', ...page };
  const [, id, number] = /^gmn:\/\/jobs\/([^/]+)(?:\/(\d{1,6}))?$/.exec(uri) ?? [];
  const job = id === undefined ? undefined : await host.jobs.find(id);
  if (job === undefined || number === undefined)
    return job && { mimeType: JSON_TYPE, text: formatJson(toPublicJob(job)) };
  const part = findJobPage(job, Number(number));
  return part && { mimeType: 'text/plain', ...part };
}

function describeCapabilities({ name, version, tools, roots, allowed }: Host): JsonObject {
  return {
    server: { name, version },
    tools: tools.map((tool) => ({ name: tool.name, title: tool.title })),
    roots: roots.list,
    allowed: { ...allowed, read: roots.list.length > 0 },
    resources: RESOURCES.map(({ uri }) => uri),
  };
}

function formatJson(value: JsonObject): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
