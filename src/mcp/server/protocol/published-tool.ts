import type { Host } from '../host.ts';
import type { SdkTool } from '../sdk.ts';
import type { Annotations, ServerTool } from '../tool.ts';

/** A tool as `tools/list` tells it. */
export function publishedTool(
  { name, title, description, annotations, input, output }: ServerTool,
  allowed: Host['allowed'],
): SdkTool {
  return parseTool({
    name,
    title,
    description,
    inputSchema: input,
    ...(output === undefined ? {} : { outputSchema: output }),
    annotations: { title, ...(annotations === 'agent' ? agentAnnotations(allowed) : annotations) },
  });
}

/** Hosts ask a person before every call of what may destroy something; a model that only reads does not. */
function agentAnnotations({ write, shell }: Host['allowed']): Annotations {
  if (!write && !shell) return { readOnlyHint: true, openWorldHint: true };
  return { readOnlyHint: false, destructiveHint: true, openWorldHint: true };
}

function parseTool(tool: object): SdkTool {
  return tool as SdkTool;
}
