import type { Clock } from '../core/io.ts';
import { isObject, type JsonObject, tryParseJson } from '../core/json.ts';
import { estimateTokens } from '../core/usage.ts';
import type { ServedReply, ServedRequest } from '../platform/http/server.ts';
import type { FaultBook, FaultName } from './fault.ts';
import { ApiError, invalidArgumentResponse, notFoundResponse, requireValid } from './google-error.ts';
import { checkFaults } from './model-call.ts';
import { parseBody } from './request.ts';
import { sendJson } from './send.ts';

const AGENT = /^deep-research-(?:max-)?(?:pro-)?preview-\d\d-\d{4}$/;
const DEFAULT_MS = 3000;
const STEPS = ['Planning the research', 'Searching the web', 'Reading what was found', 'Writing the report'] as const;

const ENDS = {
  'research-failed': 'failed',
  'research-incomplete': 'incomplete',
  'research-budget': 'budget_exceeded',
  'research-action': 'requires_action',
} as const satisfies { readonly [Name in FaultName]?: string };

interface Work {
  readonly id: string;
  readonly agent: string;
  readonly question: string;
  readonly createdAt: number;
}

/**
 * Deep research on a clock. All that is known of an interaction is in its id, so that any demo server goes on with what another began; only
 * a cancelled one is forgotten with its server. Two equal requests begin two, as with the real service.
 */
export function createInteractions({ faults, clock }: { readonly faults: FaultBook; readonly clock: Clock }) {
  const lengthMs = faults.take(['research-time'])?.amount ?? DEFAULT_MS;
  const ends = new Map<string, string>();
  let count = 0;
  const findEnd = ({ id, createdAt }: Work): string | undefined => {
    if (!ends.has(id) && clock.now() - createdAt >= lengthMs) ends.set(id, takeEnd(faults));
    return ends.get(id);
  };
  const requireWork = (id: string): Work => {
    checkFaults({ backend: 'gemini', model: 'interactions' }, faults);
    const work = faults.take(['research-gone']) === undefined ? tryParseId(id) : undefined;
    if (work === undefined) throw new ApiError(notFoundResponse(`Interaction ${id.slice(0, 40)} is not found.`));
    return work;
  };
  const show = (work: Work): JsonObject => describe(work, findEnd(work));

  const stream = async (work: Work, after: number, reply: ServedReply): Promise<void> => {
    const cutAfter = faults.take(['research-cut'])?.amount ?? Number.POSITIVE_INFINITY;
    reply.begin(200, { 'content-type': 'text/event-stream' });
    let sent = 0;
    const send = async (number: number, event: JsonObject): Promise<boolean> => {
      if (number <= after) return true;
      if (sent >= cutAfter) {
        reply.cut();
        return false;
      }
      sent += 1;
      await reply.write(`data: ${JSON.stringify({ event_id: String(number), ...event })}\n\n`);
      return true;
    };
    if (!(await send(1, { event_type: 'interaction.created', interaction: { id: work.id, status: 'in_progress' } })))
      return;
    for (const [index, step] of STEPS.entries()) {
      const dueAt = work.createdAt + (lengthMs * (index + 1)) / (STEPS.length + 1);
      if (ends.get(work.id) === 'cancelled') break;
      if (clock.now() < dueAt) await clock.sleep(dueAt - clock.now(), reply.signal);
      const delta = { type: 'thought', text: `**${step}**\n\nDemo: step ${index + 1} of ${STEPS.length}.\n\n` };
      if (!(await send(index + 2, { event_type: 'step.delta', index, delta }))) return;
    }
    const leftMs = work.createdAt + lengthMs - clock.now();
    if (leftMs > 0 && ends.get(work.id) !== 'cancelled') await clock.sleep(leftMs, reply.signal);
    const interaction = { id: work.id, status: findEnd(work) ?? 'in_progress' };
    if (!(await send(STEPS.length + 2, { event_type: 'interaction.completed', interaction }))) return;
    await reply.write('data: [DONE]\n\n');
    reply.end();
  };

  return {
    create(request: ServedRequest, reply: ServedReply): void {
      const body = requireValid(parseBody(request.body));
      checkFaults({ backend: 'gemini', model: String(body.agent ?? '') }, faults);
      const problem = findCreationProblem(body);
      if (problem !== undefined) throw new ApiError(invalidArgumentResponse(problem));
      count += 1;
      const work = createDemoWork(String(body.agent), joinInputTexts(body.input), clock.now(), count);
      if (faults.take(['research-lost']) === undefined) {
        sendJson(reply, show(work));
        return;
      }
      reply.begin(200, { 'content-type': 'application/json' });
      reply.cut();
    },
    async get({ query }: ServedRequest, reply: ServedReply, id: string): Promise<void> {
      const work = requireWork(id);
      if (query.get('stream') !== 'true') return sendJson(reply, show(work));
      await stream(work, Number(query.get('last_event_id') ?? 0) || 0, reply);
    },
    cancel(_request: ServedRequest, reply: ServedReply, id: string): void {
      const work = requireWork(id);
      if (findEnd(work) === undefined) ends.set(work.id, 'cancelled');
      sendJson(reply, show(work));
    },
  };
}

function takeEnd(faults: FaultBook): string {
  const fault = faults.take(Object.keys(ENDS) as (keyof typeof ENDS)[])?.name;
  if (fault !== undefined) return ENDS[fault as keyof typeof ENDS];
  return faults.take(['research-empty']) === undefined ? 'completed' : 'empty';
}

function findCreationProblem({ agent, input, background, store }: JsonObject): string | undefined {
  if (!AGENT.test(String(agent))) return `agent: ${String(agent)} is not known`;
  if (background !== true) return 'background: must be true for this agent';
  if (store === false) return 'store: must be true for background interactions';
  const isInput = Array.isArray(input) ? input.length > 0 : typeof input === 'string' && input !== '';
  return isInput ? undefined : 'input: must not be empty';
}

function joinInputTexts(input: unknown): string {
  if (typeof input === 'string') return input;
  const texts = Array.isArray(input) ? input.map((item) => (isObject(item) ? item.text : '')) : [];
  return texts.filter((text) => typeof text === 'string').join(' ');
}

const MAX_QUESTION = 200;

function createDemoWork(agent: string, question: string, createdAt: number, count: number): Work {
  const fields = { agent, question: question.slice(0, MAX_QUESTION), createdAt };
  return { ...fields, id: `v1_${Buffer.from(JSON.stringify({ ...fields, count })).toString('base64url')}` };
}

function tryParseId(id: string): Work | undefined {
  const value = tryParseJson(Buffer.from(id.replace(/^v1_/, ''), 'base64url').toString('utf8'));
  if (!isObject(value)) return undefined;
  const { agent, question, createdAt } = value;
  const isWhole = typeof agent === 'string' && typeof question === 'string' && typeof createdAt === 'number';
  return isWhole ? { id, agent, question, createdAt } : undefined;
}

const SOURCES = [
  {
    type: 'url_citation',
    url: 'https://example.com/first',
    title: 'A first page (demo)',
    start_index: 0,
    end_index: 4,
  },
  {
    type: 'url_citation',
    url: 'https://example.com/second?a=1',
    title: 'A second [page]',
    start_index: 5,
    end_index: 9,
  },
  {
    type: 'url_citation',
    url: 'https://example.com/first',
    title: 'A first page (demo)',
    start_index: 10,
    end_index: 12,
  },
] as const;

function describe({ id, agent, question, createdAt }: Work, end: string | undefined): JsonObject {
  const status = end === 'empty' ? 'completed' : (end ?? 'in_progress');
  const created = new Date(createdAt).toISOString();
  const head = { id, object: 'interaction', agent, status, created, updated: created };
  if (end === undefined || end === 'cancelled') return head;
  const whole = `# ${question}\n\nDemo: this is what the agent found. It cites two pages.\n\nMore of it would stand here.`;
  const text = end === 'incomplete' ? whole.slice(0, whole.length / 2) : whole;
  const output = { type: 'model_output', content: [{ type: 'text', text, annotations: SOURCES }] };
  const hasText = end === 'completed' || end === 'incomplete';
  const tokens = estimateTokens(text);
  return {
    ...head,
    steps: [{ type: 'thought', summary: [] }, ...(hasText ? [output] : [])],
    error: end === 'failed' ? { code: 13, message: 'The agent failed.' } : undefined,
    usage: {
      total_input_tokens: 250_000,
      total_cached_tokens: 150_000,
      total_output_tokens: tokens,
      total_thought_tokens: 60_000,
      total_tool_use_tokens: 0,
      total_tokens: 310_000 + tokens,
    },
  };
}
