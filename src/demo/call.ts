import type { JsonObject } from '../core/json.ts';
import { type Answer, sayAll } from './chunk.ts';
import {
  activeLoop,
  callableTools,
  type DemoRequest,
  isAnswer,
  isCall,
  parseBody,
  parseObject,
  textOf,
} from './request.ts';
import { minimalInstance } from './schema.ts';

type Sign = (call: JsonObject) => string;

const CALL = /^(?:then\s+)?call\s+([\w.:-]+)(?:\s+(\{.*\}))?(?:\s+x(\d{1,4}))?$/;

/**
 * Carries out `call <tool> {json}`: every such line at the start of the prompt is a call, all of them in one reply;
 * `then` in front of a line makes it wait for the answers, `x<n>` at its end repeats it n times, one reply each.
 * Undefined if the prompt does not begin so or names a tool that was not declared, or must not be called.
 */
export function calledAnswer(request: DemoRequest, sign: Sign): Answer | undefined {
  const loop = activeLoop(request.contents);
  const plan = planOf(textOf(loop[0]?.parts.slice(-1) ?? []));
  const callable = callableTools(request);
  if (plan.length === 0 || plan.flat().some(({ name }) => !callable.includes(name))) return undefined;
  const done = loop.filter(({ role, parts }) => role === 'model' && parts.some(isCall)).length;
  const next = plan[done];
  if (next !== undefined) return callsIn(request, next, sign);
  return mustCall(request) ? undefined : sayAll(summary(loop.at(-1)?.parts ?? []));
}

/**
 * The call that mode ANY demands whatever was asked: the first function it allows, with the smallest arguments that its
 * schema accepts. Undefined in every other mode.
 */
export function forcedAnswer(request: DemoRequest, sign: Sign): Answer | undefined {
  const [name] = callableTools(request);
  if (!mustCall(request) || name === undefined) return undefined;
  const schema = request.tools.get(name);
  // A function without parameters may be declared without a schema.
  const args = schema === undefined || schema === null ? {} : parseObject(minimalInstance(schema));
  return callsIn(request, [{ name, args }], sign);
}

/** Whether the reply must be a call and nothing else. */
export function mustCall({ calling }: DemoRequest): boolean {
  return calling.mode === 'ANY';
}

function callsIn(request: DemoRequest, calls: readonly PlannedCall[], sign: Sign): Answer {
  const parts = calls.map((call, index) => {
    const functionCall = { id: `demo-${request.contents.length}-${index}`, ...call };
    // Only the first of several calls carries a signature.
    return index === 0 ? { functionCall, thoughtSignature: sign({ ...call }) } : { functionCall };
  });
  return { chunks: [{ parts }] };
}

interface PlannedCall {
  readonly name: string;
  readonly args: JsonObject;
}

function planOf(prompt: string): readonly (readonly PlannedCall[])[] {
  const steps: PlannedCall[][] = [];
  for (const line of prompt.trim().split('\n')) {
    const match = CALL.exec(line.trim());
    const args = match === null ? undefined : parseBody(match[2] ?? '{}');
    const name = match?.[1];
    if (name === undefined || args?.ok !== true) break;
    const call = { name, args: args.value };
    const times = Number(match?.[3] ?? 1);
    const isLater = line.trim().startsWith('then') || times > 1;
    if (isLater || steps.length === 0) {
      for (let round = 0; round < times; round += 1) steps.push([call]);
    } else {
      steps.at(-1)?.push(call);
    }
  }
  return steps;
}

function summary(parts: readonly JsonObject[]): string {
  const lines = parts.filter(isAnswer).map((part) => {
    const { name, response } = parseObject(part.functionResponse);
    const { output, error } = parseObject(response);
    const told = error ?? output ?? response;
    const text = typeof told === 'string' ? told : JSON.stringify(told ?? null);
    return `demo: ${String(name)} ${error === undefined ? 'answered' : 'failed'}: ${text.trim().split('\n')[0] ?? ''}`;
  });
  return lines.join('\n');
}
