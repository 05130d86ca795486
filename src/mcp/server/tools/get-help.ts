import { helpText } from '../help.ts';
import { serverTool } from '../tool.ts';
import { plainFailure, plainResult } from './results.ts';

/** How to use this server. */
export const getHelp = serverTool({
  name: 'get_help',
  title: 'Help',
  description: 'What this server can do, with its limits and the next steps when something is refused.',
  isQuick: true,
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  input: { properties: {} },
  fail: plainFailure,
  run: async (_, { host }) => plainResult(host.pages, { text: helpText(host) }),
});
