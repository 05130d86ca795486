import { serverError } from '../core/error.ts';
import type { Source } from '../core/event.ts';
import {
  type Interaction,
  type InteractionEvent,
  type InteractionRequest,
  type InteractionsClient,
  isInteractionId,
} from '../core/interaction.ts';
import { filterObjects, isObject, toNonEmptyString, tryParseJson } from '../core/json.ts';
import { redactKnown } from '../core/text/secrets.ts';
import { parseTotalUsage, toInputItem } from './decisions.ts';
import { geminiApiUrl } from './gemini-api.ts';
import { toOneLine } from './google-error.ts';
import { readPrefix } from './payload.ts';
import {
  callJson,
  createServiceCaller,
  type Fields,
  responseError,
  type ServiceContext,
  sendAuthorized,
} from './queries.ts';
import { readSseEvents } from './sse.ts';

const ASKS = 'an agent';
const MAX_ERROR_BYTES = 100_000;

/** https://ai.google.dev/gemini-api/docs/deep-research. Read in packages and pages, never recorded: docs/compat.md. */
export function createInteractionsClient(context: ServiceContext): InteractionsClient {
  const { place, identity } = context;
  const common = { asks: ASKS };
  const { find } = createServiceCaller(context, common);
  const parse = (fields: Fields): Interaction => parseInteraction(fields, identity.secrets);
  return {
    async create(request, signal) {
      const call = { ...common, url: geminiApiUrl(place, 'interactions'), body: toCreation(request) };
      return parse(await callJson(context, { ...call, isRepeatable: false }, signal));
    },
    async get(id, signal) {
      const fields = await find(toInteractionPath(id), signal);
      return fields && parse(fields);
    },
    async *follow(id, lastEventId, signal) {
      const since = lastEventId === undefined ? '' : `&last_event_id=${encodeURIComponent(lastEventId)}`;
      const url = geminiApiUrl(place, `${toInteractionPath(id)}?stream=true${since}`);
      const headers = { accept: 'text/event-stream' };
      const response = await sendAuthorized(context, { method: 'GET', url, headers, isRepeatable: true }, signal);
      if (response.status !== 200) {
        const text = await readPrefix(response.body, MAX_ERROR_BYTES);
        throw await responseError(response, text, { identity, asks: ASKS });
      }
      for await (const batch of readSseEvents(response.body, { now: context.clock.now })) {
        for (const data of batch) yield* parseEvent(tryParseJson(data));
      }
    },
    async cancel(id, signal) {
      const fields = await find(`${toInteractionPath(id)}/cancel`, signal, { body: {} });
      return fields && parse(fields);
    },
  };
}

function toInteractionPath(id: string): string {
  return `interactions/${encodeURIComponent(id)}`;
}

/** `store` stays on, as the API wants it for work in the background: Google keeps the interaction. */
function toCreation({ agent, input }: InteractionRequest): object {
  const [only, ...others] = input;
  const isText = only !== undefined && 'text' in only && others.length === 0;
  return {
    agent,
    input: isText ? only.text : input.map(toInputItem),
    background: true,
    agent_config: { type: 'deep-research', thinking_summaries: 'auto', visualization: 'off' },
  };
}

function parseInteraction(fields: Fields, secrets: ReadonlySet<string>): Interaction {
  const { id, status, error } = fields;
  if (!isInteractionId(id) || typeof status !== 'string') {
    throw serverError('api', 'the server did not describe the research', { hint: 'Try again.' });
  }
  const contents = listReportTexts(fields);
  const message = isObject(error) ? error.message : error;
  return {
    id,
    status: status.toLowerCase(),
    text: contents.map(({ text }) => text).join(''),
    sources: parseSources(contents.flatMap(({ annotations }) => annotations)),
    usage: parseTotalUsage(fields.usage),
    error: typeof message === 'string' ? toOneLine(redactKnown(message, secrets), 300) : undefined,
  };
}

interface TextContent {
  readonly text: string;
  readonly annotations: readonly Fields[];
}

/** The texts of the steps in which the agent answers; earlier versions have `outputs` in place of steps. */
function listReportTexts({ steps, outputs }: Fields): readonly TextContent[] {
  const answers = filterObjects(steps).filter(({ type }) => type === 'model_output');
  const lists = Array.isArray(steps) ? answers.map(({ content }) => content) : [outputs];
  return lists.flatMap((list, index) => {
    const texts = filterObjects(list).flatMap(({ text, annotations }) =>
      typeof text === 'string' ? [{ text, annotations: filterObjects(annotations) }] : [],
    );
    return index === 0 || texts.length === 0 ? texts : [{ text: '\n\n', annotations: [] }, ...texts];
  });
}

/** Of pages, files and places, in the order in which they are first cited. */
function parseSources(annotations: readonly Fields[]): readonly Source[] {
  const found = new Map<string, Source>();
  for (const { url, uri, document_uri: document, title, name, file_name: file } of annotations) {
    const address = toNonEmptyString(url) ?? toNonEmptyString(uri) ?? toNonEmptyString(document) ?? '';
    const words = toNonEmptyString(title) ?? toNonEmptyString(name) ?? toNonEmptyString(file) ?? address;
    const key = address === '' ? words : address;
    if (key !== '' && !found.has(key)) found.set(key, { title: toOneLine(words, 300), uri: toOneLine(address, 2000) });
  }
  return [...found.values()];
}

/** At most one; events of an unknown type are dropped. */
function parseEvent(value: unknown): readonly InteractionEvent[] {
  if (!isObject(value)) return [];
  const { event_id: eventId, event_type: type, delta } = value;
  const isLast = type === 'interaction.completed' || type === 'interaction.complete' || type === 'error';
  return [{ eventId: toNonEmptyString(eventId), thought: findThought(delta), isLast }];
}

function findThought(delta: unknown): string | undefined {
  if (!isObject(delta) || (delta.type !== 'thought' && delta.type !== 'thought_summary')) return undefined;
  const { text, content } = delta;
  return toNonEmptyString(text) ?? (isObject(content) ? toNonEmptyString(content.text) : undefined);
}
