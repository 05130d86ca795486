import { readRoster } from '../app/servers/roster.ts';
import { type FoundTemplate, findTemplates, listTemplateDirectories, readTemplate } from '../config/templates.ts';
import type { App } from '../core/app.ts';
import { readToolList } from '../mcp/client/tools/cache.ts';

export interface Candidate {
  readonly value: string;
  readonly about: string;
}

export async function listTemplates(app: App): Promise<readonly Candidate[]> {
  const found = await findTemplates(await listTemplateDirectories(app));
  const usable = found.filter(({ place }) => place.ignored === undefined);
  return Promise.all(
    usable.map(async (template) => ({ value: template.name, about: await readDescription(template) })),
  );
}

async function readDescription(template: FoundTemplate): Promise<string> {
  try {
    return (await readTemplate(template)).description ?? '';
  } catch {
    return '';
  }
}

/** Reads the cached tool list; starts nothing. */
export async function listTools(app: App, server: string): Promise<readonly Candidate[]> {
  const { entries } = await readRoster({}, app);
  const state = entries.find(({ name }) => name === server)?.state;
  const toolList = state?.kind === 'ready' ? readToolList(state.server, app) : undefined;
  return (toolList?.tools ?? []).map(({ name, description = '' }) => ({ value: name, about: description }));
}
