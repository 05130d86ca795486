// The resources and prompts that the suite wants of a server.

/** A red pixel. */
export const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
/** A WAV file without a sound in it. */
export const SILENCE = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';

/** As `resources/list` says them. */
export const RESOURCES = [
  { uri: 'test://static-text', name: 'static-text', mimeType: 'text/plain' },
  { uri: 'test://static-binary', name: 'static-binary', mimeType: 'image/png' },
  { uri: 'test://watched-resource', name: 'watched-resource', mimeType: 'text/plain' },
];

export const TEMPLATES = [{ uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' }];

/** What is in one of them; undefined: it is not ours. */
export function contentsOf(uri) {
  const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? [];
  if (id !== undefined) {
    const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    return [{ uri, mimeType: 'application/json', text }];
  }
  const { mimeType } = RESOURCES.find((resource) => resource.uri === uri) ?? {};
  if (mimeType === undefined) return undefined;
  return [mimeType === 'image/png' ? { uri, mimeType, blob: PIXEL } : { uri, mimeType, text: `The text of ${uri}.` }];
}

const argument = (name) => ({ name, description: `What ${name} is.`, required: true });

/** As `prompts/list` says them. */
export const PROMPTS = [
  { name: 'test_simple_prompt' },
  { name: 'test_prompt_with_arguments', arguments: [argument('arg1'), argument('arg2')] },
  { name: 'test_prompt_with_embedded_resource', arguments: [argument('resourceUri')] },
  { name: 'test_prompt_with_image' },
  { name: 'test_input_required_result_prompt' },
].map((prompt) => ({ description: `The suite gets ${prompt.name}.`, ...prompt }));

const CONTEXT = { type: 'object', properties: { context: { type: 'string' } }, required: ['context'] };

/** One of them, filled in; undefined: it is not ours. */
export function filledFixture(name, args, { sdk, context }) {
  const user = (content) => ({ role: 'user', content });
  const text = (words) => user({ type: 'text', text: words });
  switch (name) {
    case 'test_simple_prompt':
      return { messages: [text('This is a simple prompt for testing.')] };
    case 'test_prompt_with_arguments':
      return { messages: [text(`Prompt with arguments: arg1='${args.arg1}', arg2='${args.arg2}'`)] };
    case 'test_prompt_with_embedded_resource': {
      const words = 'Embedded resource content for testing.';
      const resource = { uri: args.resourceUri, mimeType: 'text/plain', text: words };
      return { messages: [user({ type: 'resource', resource }), text('Please process the embedded resource above.')] };
    }
    case 'test_prompt_with_image': {
      const image = { type: 'image', data: PIXEL, mimeType: 'image/png' };
      return { messages: [user(image), text('Please analyze the image above.')] };
    }
    case 'test_input_required_result_prompt': {
      const given = sdk.acceptedContent(context().mcpReq.inputResponses, 'user_context');
      if (given !== undefined) return { messages: [text(`In the context of ${given.context}.`)] };
      const message = 'What context should the prompt use?';
      const user_context = sdk.inputRequired.elicit({ message, requestedSchema: CONTEXT });
      return sdk.inputRequired({ inputRequests: { user_context } });
    }
    default:
      return undefined;
  }
}
