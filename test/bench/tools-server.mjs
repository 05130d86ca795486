// An MCP server on stdio with as many tools as its argument says, in pages of a hundred.
import { createInterface } from 'node:readline';

const count = Number(process.argv[2]);
const PAGE = 100;
const inputSchema = { type: 'object', properties: { path: { type: 'string', description: 'A file.' } } };

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'bench', version: '1' },
  }),
  ping: () => ({}),
  'tools/list': ({ cursor = '0' }) => {
    const start = Number(cursor);
    const end = Math.min(count, start + PAGE);
    const tools = Array.from({ length: end - start }, (_, index) => toolOf(start + index));
    return { tools, ...(end < count ? { nextCursor: String(end) } : {}) };
  },
};

function toolOf(index) {
  return { name: `tool_${index}`, description: `What tool number ${index} does, in a sentence or two.`, inputSchema };
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) return;
  const answer = answers[method];
  const reply = answer ? { result: answer(params) } : { error: { code: -32601, message: 'no such method' } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...reply })}\n`);
});
