import { takeBefore } from '../core/text/trim.ts';
import type { Tool } from '../core/tool.ts';
import { dropLoneCompanions, findToolName } from '../tools/builtins.ts';

/** A sub-agent has no list of steps to show, and asks no other sub-agent: those are not among the tools of a run yet. */
const WITHOUT = ['write_todos'];

/**
 * Those of its parent's tools that a sub-agent names; all of them if it names none, or `*`. Never one that the parent has not.
 * Names may be gmn's, the official CLI's or Claude Code's; `mcp_*`, `mcp_server_*`, `mcp__server__tool` are those of servers.
 */
export function selectAgentTools(tools: readonly Tool[], wanted: readonly string[] | undefined): readonly Tool[] {
  const own = tools.filter(({ name }) => !WITHOUT.includes(name));
  if (wanted === undefined || wanted.includes('*')) return own;
  return dropLoneCompanions(own.filter((tool) => wanted.some((name) => isMeant(tool, name))));
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
