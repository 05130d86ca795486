import type { AgentDefinition } from '../../config/conventions/agents.ts';
import { takeBefore } from '../../core/text/trim.ts';
import type { Tool } from '../../core/tool.ts';
import { dropLoneCompanions, findToolName } from '../../tools/builtins.ts';

/**
 * Those of its parent's tools that a sub-agent names; all of them if it names none, or `*`. Never one that the parent has not, or
 * that it is to do without, nor the list of steps, which it cannot show. It asks no other sub-agent: those are not among the tools of a run yet.
 * Names may be gmn's, the official CLI's or Claude Code's; `mcp_*`, `mcp_server_*`, `mcp__server__tool` are those of servers.
 */
export function selectAgentTools(
  tools: readonly Tool[],
  { tools: wanted = ['*'], withoutTools }: Pick<AgentDefinition, 'tools' | 'withoutTools'>,
): readonly Tool[] {
  const isOneOf = (names: readonly string[], tool: Tool): boolean =>
    names.some((name) => name === '*' || isMeant(tool, name));
  return dropLoneCompanions(
    tools.filter((tool) => !tool.isPlan && isOneOf(wanted, tool) && !isOneOf(withoutTools, tool)),
  );
}

function isMeant({ name, remote }: Tool, written: string): boolean {
  // Claude Code has rules in brackets, `Bash(git:*)`: what may run is for the approval to decide.
  const wanted = takeBefore(written, '(').trim();
  if (remote === undefined) return name === wanted || findToolName(wanted) === name;
  const { server, tool } = remote;
  return [
    name,
    'mcp_*',
    `mcp_${server}_*`,
    `mcp_${server}_${tool}`,
    `mcp__${server}`,
    `mcp__${server}__*`,
    `mcp__${server}__${tool}`,
  ].includes(wanted);
}
