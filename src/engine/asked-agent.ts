import type { Turn } from '../agent/agent.ts';
import { hasConventionPlaces } from '../config/context-place.ts';
import { findAgents } from '../config/conventions/agents.ts';
import type { App } from '../core/app.ts';
import type { Notify } from '../core/event.ts';
import type { Tool } from '../core/tool.ts';

/** The call that `@name words` stands for. Undefined if there is no such sub-agent; says so if it only lacks tools. */
export async function findAskedAgent(
  text: string,
  tools: readonly Tool[],
  { app, notify }: { readonly app: App; readonly notify: Notify },
): Promise<Turn['firstCall']> {
  const [, name, prompt] = /^@([a-z_][a-z0-9_-]*)\s+(\S[\s\S]*)$/.exec(text) ?? [];
  if (name === undefined || prompt === undefined) return undefined;
  if (tools.some((tool) => tool.name === name && tool.isAgent)) return { name, args: { prompt } };
  const settings = await app.settings();
  if (!hasConventionPlaces(app) && (settings.extensions ?? []).length === 0) return undefined;
  const { agents } = await findAgents({ ...app, settings });
  if (agents.some((agent) => agent.name === name)) {
    notify(
      `@${name} is a sub-agent, which needs tools to work with: --tools read, edit or all. The model itself was asked.`,
    );
  }
  return undefined;
}
