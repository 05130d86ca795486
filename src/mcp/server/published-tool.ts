import type { SdkTool } from './sdk.ts';
import type { ServerTool } from './tool.ts';

/** A tool as `tools/list` tells it. */
export function publishedTool({ name, title, description, annotations, input, output }: ServerTool): SdkTool {
  return parseTool({
    name,
    title,
    description,
    inputSchema: input,
    ...(output === undefined ? {} : { outputSchema: output }),
    annotations: { title, ...annotations },
  });
}

function parseTool(tool: object): SdkTool {
  return tool as SdkTool;
}
