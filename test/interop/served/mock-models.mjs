import { once } from 'node:events';
import { createServer } from 'node:http';

/**
 * The models of other makers, on loopback: Anthropic's Messages and OpenAI's Responses. Both do as they are told: a prompt
 * with `call <tool> <JSON>` becomes a call of the tool whose name ends like that, and its result becomes the answer.
 */
export async function mockModels() {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const asked = body === '' ? {} : JSON.parse(body);
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    if (pathname.endsWith('/messages')) return answer(response, asked, messages(asked));
    if (pathname.endsWith('/responses')) return answer(response, asked, responses(asked));
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"not here"}}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

function answer(response, { stream }, { events, whole }) {
  if (!stream) return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(whole));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
}

/** What the prompt tells to call, of the tools there are; undefined if nothing, or if that was done. */
function wantedCall(texts, tools) {
  const told = texts.map((text) => /\bcall (\w+) (\{.*\})/.exec(text)).findLast((found) => found !== null);
  if (told === undefined) return undefined;
  const [, tool, given] = told;
  const name = tools.find((known) => known === tool || known.endsWith(`__${tool}`));
  return name === undefined ? undefined : { name, given: JSON.parse(given) };
}

/** https://docs.anthropic.com/en/api/messages-streaming */
function messages({ model, tools = [], messages: said = [] }) {
  const blocks = said.flatMap(({ role, content }) =>
    (typeof content === 'string' ? [{ type: 'text', text: content }] : content).map((block) => ({ ...block, role })),
  );
  const result = blocks.findLast(({ type }) => type === 'tool_result');
  const texts = blocks.flatMap(({ role, text }) => (role === 'user' && text !== undefined ? [text] : []));
  const names = tools.map(({ name }) => name);
  const call = result === undefined ? wantedCall(texts, names) : undefined;
  const missing = result === undefined && call === undefined ? `no such tool among ${names.join(' ')}` : '';
  const block = call
    ? { type: 'tool_use', id: 'toolu_1', name: call.name, input: call.given }
    : { type: 'text', text: result ? JSON.stringify(result.content) : missing };
  const stop_reason = call ? 'tool_use' : 'end_turn';
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model, content: [], usage };
  const start = call ? { ...block, input: {} } : { ...block, text: '' };
  const delta = call
    ? { type: 'input_json_delta', partial_json: JSON.stringify(call.given) }
    : { type: 'text_delta', text: block.text };
  return {
    whole: { ...message, content: [block], stop_reason, stop_sequence: null },
    events: [
      { type: 'message_start', message: { ...message, stop_reason: null, stop_sequence: null } },
      { type: 'content_block_start', index: 0, content_block: start },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
      { type: 'message_stop' },
    ],
  };
}

/** https://platform.openai.com/docs/api-reference/responses-streaming */
function responses({ tools = [], input = [] }) {
  const result = input.findLast(({ type }) => type === 'function_call_output');
  const texts = input.flatMap(({ role, content }) => (role === 'user' ? content.map(({ text }) => text ?? '') : []));
  // Tools of one server may come as a namespace.
  const known = tools.flatMap(({ type, name, tools: inside = [] }) =>
    type === 'namespace' ? inside.map((tool) => ({ name: tool.name, namespace: name })) : [{ name }],
  );
  const names = known.map(({ name }) => String(name));
  const call = result === undefined ? wantedCall(texts, names) : undefined;
  const namespace = known.find(({ name }) => name === call?.name)?.namespace;
  const text = result ? JSON.stringify(result.output) : `no such tool among ${JSON.stringify(known)}`;
  const item = call
    ? {
        type: 'function_call',
        id: 'fc_1',
        call_id: 'call_1',
        name: call.name,
        arguments: JSON.stringify(call.given),
        ...(namespace === undefined ? {} : { namespace }),
      }
    : { type: 'message', id: 'm_1', role: 'assistant', content: [{ type: 'output_text', text }] };
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  const response = { id: 'resp_1', object: 'response', status: 'completed', output: [item], usage };
  return {
    whole: response,
    events: [
      { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response },
    ],
  };
}
