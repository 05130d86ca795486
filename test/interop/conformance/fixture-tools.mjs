// The tools that the suite wants of a server, as tools of gmn's own server layer. `context` gives what the SDK knows of the call.
import { PIXEL, SILENCE } from './fixture-content.mjs';

const NAME = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const OK = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };
const COLOUR = { type: 'object', properties: { color: { type: 'string' } }, required: ['color'] };
const ACCOUNT = {
  type: 'object',
  properties: {
    username: { type: 'string', description: "User's response" },
    email: { type: 'string', description: "User's email address" },
  },
  required: ['username', 'email'],
};
const DEFAULTS = {
  type: 'object',
  properties: {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  },
};
const options = ['option1', 'option2', 'option3'];
const titled = (word) =>
  ['First', 'Second', 'Third'].map((nth, at) => ({ const: `value${at + 1}`, title: `${nth} ${word}` }));
const ENUMS = {
  type: 'object',
  properties: {
    untitledSingle: { type: 'string', enum: options },
    titledSingle: { type: 'string', oneOf: titled('Option') },
    legacyEnum: {
      type: 'string',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
    titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
  },
};

/** All of them. `sdk` is the MCP SDK, `own` what gmn makes its tools with. */
export function fixtureTools({ sdk, own, context, states }) {
  const define = (name, run, properties = {}) =>
    own.serverTool({
      name,
      title: name,
      description: `The suite calls ${name}.`,
      annotations: { readOnlyHint: true, openWorldHint: false },
      input: { properties },
      fail: (error) => {
        if (error.cause instanceof sdk.ProtocolError) throw error.cause;
        return own.plainFailure(error);
      },
      run,
    });
  const parts = { define, sdk, own, context, states };
  return [...contentTools(parts), ...askingTools(parts), ...roundTools(parts)];
}

function contentTools({ define, own, context }) {
  const image = { type: 'image', data: PIXEL, mimeType: 'image/png' };
  const resource = (uri, mimeType, text) => ({ type: 'resource', resource: { uri, mimeType, text } });
  const embedded = resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.');
  const mixed = resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}');
  const log = (words) => context().mcpReq.log('info', words);
  return [
    define('test_simple_text', async () => textResult('This is a simple text response for testing.')),
    define('test_image_content', async () => ({ content: [image] })),
    define('test_audio_content', async () => ({ content: [{ type: 'audio', data: SILENCE, mimeType: 'audio/wav' }] })),
    define('test_embedded_resource', async () => ({ content: [embedded] })),
    define('test_multiple_content_types', async () => ({
      content: [{ type: 'text', text: 'Multiple content types test:' }, image, mixed],
    })),
    define('test_error_handling', async () => {
      throw new own.AppError('usage', 'This tool intentionally returns an error for testing');
    }),
    define('test_tool_with_progress', async (_, { progress }) => {
      for (const phase of ['begun', 'half done', 'done']) progress.report(phase);
      return textResult('It told how it got on.');
    }),
    define('test_tool_with_logging', async () => {
      for (const phase of ['started', 'processing', 'completed']) await log(`Tool execution ${phase}`);
      return textResult('It logged three messages.');
    }),
    define('test_logging_tool', async () => {
      await log('nobody asked for this');
      return textResult('It logged one message.');
    }),
  ];
}

/** What asks the client in the middle of a call, as revisions before 2026 do. */
function askingTools({ define, sdk, context }) {
  // On the stream of the call itself: the other one may not be open yet.
  const asked = (method, params) => context().mcpReq.send({ method, params });
  const elicited = async (message, requestedSchema, words) => {
    const { action, content } = await asked('elicitation/create', { message, requestedSchema });
    return textResult(`${words}: action=${action}, content=${JSON.stringify(content ?? {})}`);
  };
  const completed = 'Elicitation completed';
  return [
    define(
      'test_sampling',
      async ({ prompt }) => {
        const { content } = await asked('sampling/createMessage', question(prompt, 100));
        return textResult(`LLM response: ${content.text}`);
      },
      { prompt: { type: 'string', description: 'What to ask.' } },
    ),
    define('test_elicitation', async ({ message }) => elicited(message, ACCOUNT, 'User response'), {
      message: { type: 'string', description: 'What to show.' },
    }),
    define('test_elicitation_sep1034_defaults', () => elicited('Please look at the defaults', DEFAULTS, completed)),
    define('test_elicitation_sep1330_enums', () => elicited('Please choose', ENUMS, completed)),
    define('test_missing_capability', async () => {
      throw new sdk.MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
    }),
    define('test_streaming_elicitation', async () => ask(sdk, { user_name: elicit(sdk, 'What is your name?', NAME) })),
  ];
}

/** What answers with a question, and is called again with the reply: 2026-07-28. */
function roundTools({ define, sdk, context, states }) {
  const replies = () => context().mcpReq.inputResponses ?? {};
  const accepted = (key) => sdk.acceptedContent(replies(), key);
  const name = elicit(sdk, 'What is your name?', NAME);
  const confirm = elicit(sdk, 'Please confirm', OK);
  const roots = sdk.inputRequired.listRoots();
  const sample = (text, maxTokens) => sdk.inputRequired.createMessage(question(text, maxTokens));
  const withState = async (requests, state) => ask(sdk, requests, await states.mint(state, context()));
  const guarded = async () => {
    if (context().mcpReq.requestState() === undefined || accepted('confirm') === undefined)
      return withState({ confirm }, { step: 1 });
    return textResult('state-ok');
  };
  return [
    define('test_input_required_result_elicitation', async () => {
      const given = accepted('user_name');
      return typeof given?.name === 'string' ? textResult(`Hello, ${given.name}!`) : ask(sdk, { user_name: name });
    }),
    define('test_input_required_result_sampling', async () => {
      const { capital_question: reply } = replies();
      if (reply?.content === undefined)
        return ask(sdk, { capital_question: sample('What is the capital of France?', 100) });
      return textResult(`The answer was: ${[reply.content].flat()[0].text}`);
    }),
    define('test_input_required_result_list_roots', async () => {
      const { client_roots: reply } = replies();
      if (!Array.isArray(reply?.roots)) return ask(sdk, { client_roots: roots });
      return textResult(`Roots: ${reply.roots.map(({ uri }) => uri).join(', ')}`);
    }),
    define('test_input_required_result_request_state', guarded),
    define('test_input_required_result_tampered_state', guarded),
    define('test_input_required_result_multiple_inputs', async () => {
      const { user_name, greeting, client_roots } = replies();
      if (user_name && greeting && client_roots) return textResult('All three have come.');
      return withState({ user_name: name, greeting: sample('Generate a greeting', 50), client_roots: roots }, {});
    }),
    define('test_input_required_result_multi_round', async () => {
      const step = context().mcpReq.requestState()?.step ?? 0;
      if (step === 2 && accepted('step2')) return textResult('Both steps are done.');
      if (step === 1 && accepted('step1'))
        return withState({ step2: elicit(sdk, 'Step 2: What is your favorite color?', COLOUR) }, { step: 2 });
      return withState({ step1: elicit(sdk, 'Step 1: What is your name?', NAME) }, { step: 1 });
    }),
    define('test_input_required_result_capabilities', async () => {
      const can = context().mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? {};
      const wanted = {
        ...(can.elicitation && { user_name: name }),
        ...(can.sampling && { greeting: sample('Hi', 50) }),
      };
      return Object.keys(wanted).length === 0 ? textResult('There is nobody to ask.') : ask(sdk, wanted);
    }),
  ];
}

function textResult(text) {
  return { content: [{ type: 'text', text }] };
}

function question(text, maxTokens) {
  return { messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens };
}

function elicit({ inputRequired }, message, requestedSchema) {
  return inputRequired.elicit({ message, requestedSchema });
}

function ask({ inputRequired }, inputRequests, requestState) {
  return inputRequired({ inputRequests, ...(requestState === undefined ? {} : { requestState }) });
}
