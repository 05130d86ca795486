import type { Turn } from '../../agent/agent.ts';
import { hasConventionPlaces } from '../../config/context-place.ts';
import { findAgents } from '../../config/conventions/agents.ts';
import type { App } from '../../core/app.ts';
import type { StoredContent } from '../../core/content.ts';
import type { Notify } from '../../core/event.ts';
import type { Tool } from '../../core/tool.ts';

/**
 * The call that `@name words` stands for, with all texts of the prompt. Undefined if there is no such sub-agent; says so if it only
 * lacks tools.
 */
export async function findAskedAgent(
  { parts, question }: StoredContent,
  tools: readonly Tool[],
  { app, notify }: { readonly app: App; readonly notify: Notify },
): Promise<Turn['firstCall']> {
  const texts = parts.flatMap((part) => ('text' in part ? [part.text] : []));
  const [, name] = /^@([a-z_][a-z0-9_-]*)\s+\S/.exec(question ?? texts[0] ?? '') ?? [];
  if (name === undefined) return undefined;
  if (tools.some((tool) => tool.name === name && tool.isAgent)) {
    if (parts.length > texts.length) notify(`@${name} gets the texts of the prompt, and none of its other files`);
    return { name, args: { prompt: dropName(`@${name}`, texts.join('\n\n'), question) } };
  }
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

/** Files and stdin are before the question, in which paths may have been replaced, and which is cut if it is long. */
function dropName(name: string, text: string, question: string = text): string {
  const start = [text.lastIndexOf(question), text.lastIndexOf(name)].find((index) => index >= 0) ?? 0;
  return text.slice(0, start) + text.slice(start + name.length).trimStart();
}
