import { readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'vitest';
import { filterObjects, type JsonObject, type JsonValue, toJsonObject } from '../../src/core/json.ts';
import { parseRequest } from '../../src/demo/request.ts';
import { createSignatureBook } from '../../src/demo/signature.ts';
import { serve } from '../mcp/server/support.ts';
import { chunk, events, failure, fakeGemini, finish } from '../support/gemini.ts';
import { conversationObjection, STRICT_MODEL, type WirePart } from '../support/gemini-rules.ts';
import { callGmnIn, type GmnResult, place } from '../support/gmn.ts';
import type { End, Seen, Task, Way } from './task.ts';

/** Bytes of one request. */
export interface RequestSize {
  readonly system: number;
  readonly tools: number;
  readonly contents: number;
  readonly total: number;
  /** Whether it begins with all bytes of the one before, so that the service may use what it has cached. */
  readonly isPrefixKept: boolean;
}

export interface TaskRun {
  readonly task: string;
  readonly way: Way;
  /** Replies of the model. */
  readonly turns: number;
  readonly requests: readonly RequestSize[];
}

/** Runs a task through the program. Throws if a request is not one that the API takes, or the end is not the right one. */
export async function runTask(t: TestContext, task: Task, way: Way): Promise<TaskRun> {
  const model = await scriptedModel(t, task);
  const { files, home, env } = task;
  const at = place(t, { gemini: model, files, home: home ?? {}, env: env ?? {} });
  const asked = await ask(t, task, way, at);
  model.finish(asked.notices);
  task.check(
    {
      ...asked,
      file(path) {
        try {
          return readFileSync(join(at.cwd, path), 'utf8');
        } catch {
          return undefined;
        }
      },
    },
    way,
  );
  const places = [realpathSync(at.root), at.root];
  return { task: task.name, way, turns: model.turns(), requests: measure(model.bodies, places) };
}

type Place = ReturnType<typeof place>;

type Asked = Omit<End, 'file'>;

function ask(t: TestContext, task: Task, way: Way, at: Place): Promise<Asked> {
  if (way === 'delegate') return delegateTask(t, task, at);
  return runInTurn(task, (prompt, isFirst) => {
    const again = isFirst ? [] : ['-c'];
    if (way === 'one-shot') {
      const verify = task.verify === undefined ? [] : ['--verify', task.verify];
      return callGmnIn(t, at, [...again, ...flagsOf(task), ...verify, prompt]);
    }
    const lines = [...(task.verify === undefined ? [] : [`/verify ${task.verify}`]), prompt];
    return callGmnIn(t, at, ['chat', ...again, ...flagsOf(task)], lines.map((line) => `${line}\n`).join(''));
  });
}

async function runInTurn(
  { prompts }: Task,
  run: (prompt: string, isFirst: boolean) => Promise<GmnResult>,
): Promise<Asked> {
  const runs: GmnResult[] = [];
  for (const [index, prompt] of prompts.entries()) runs.push(await run(prompt, index === 0));
  return {
    answer: runs.map(({ stdout }) => stdout).join(''),
    notices: runs.map(({ stderr }) => stderr).join(''),
    exitCodes: runs.map(({ exitCode }) => exitCode),
  };
}

function flagsOf({ may, flags = [] }: Task): readonly string[] {
  const edit = ['--approval-mode', 'auto_edit'];
  if (may === 'read') return ['--tools', 'edit', ...flags];
  if (may === 'edit') return ['--tools', 'edit', ...edit, ...flags];
  return ['--tools', 'edit,run_shell_command', ...edit, '--allowed-tools', 'run_shell_command', ...flags];
}

const SERVED = { read: [], edit: ['--allow-write'], shell: ['--allow-write', '--allow-shell'] } as const;

async function delegateTask(t: TestContext, { prompts, may, verify }: Task, at: Place): Promise<Asked> {
  const answers: string[] = [];
  const notices: string[] = [];
  const exitCodes: (number | null)[] = [];
  let session: JsonObject = {};
  for (const prompt of prompts) {
    const server = await serve(t, { at, flags: SERVED[may] });
    const asked = { prompt, ...session, ...(verify === undefined ? {} : { verify }) };
    const { structuredContent, isError } = await server.call('delegate', asked);
    answers.push(String(structuredContent.output ?? ''));
    if (isError) notices.push(JSON.stringify(structuredContent));
    notices.push(JSON.stringify(structuredContent.refused ?? []));
    session = { session_id: structuredContent.session_id };
    exitCodes.push(await server.end());
    notices.push(server.stderr());
  }
  return { answer: answers.join('\n'), notices: notices.join(''), exitCodes };
}

interface ScriptedModel {
  readonly url: string;
  /** Of the requests that were answered. */
  readonly bodies: readonly string[];
  turns(): number;
  /** Throws if a request was refused, came too many or too few. */
  finish(notices: string): void;
}

/** Takes good requests only, and replies to each with the next step of the task. */
async function scriptedModel(t: TestContext, { model, name }: Task): Promise<ScriptedModel> {
  const replies: (readonly WirePart[])[] = [];
  const bodies: string[] = [];
  const demo = demoSignatures();
  let steps = 0;
  const gemini = await fakeGemini(t, (response, request) => {
    const { text, path } = request;
    if (!path.includes(':streamGenerateContent')) throw new Error(`${path} is not asked for here`);
    const why = conversationObjection(text, replies) ?? demo.findObjection(text);
    if (why !== undefined) throw new Error(why);
    const step = model[steps];
    steps += 1;
    if (step === undefined) throw new Error('the task has no more steps');
    const given = step(readRequest(text));
    if ('status' in given) return failure(given.status, 'UNAVAILABLE', 'Not now.')(response, request);
    const parts = signReply(given, `${name}-${replies.length}`);
    replies.push(parts);
    demo.record(parts);
    bodies.push(text);
    const chunks = parts.map((part, index) => (index === parts.length - 1 ? finish('STOP', [part]) : chunk([part])));
    return events(chunks)(response, request);
  });
  return {
    url: gemini.url,
    bodies,
    turns: () => replies.length,
    finish(notices) {
      const faults = gemini.refusals.splice(0);
      if (steps < model.length) faults.push(`${model.length - steps} steps were not asked for`);
      if (faults.length > 0) throw new Error(`${faults.join('\n')}\n${notices}`);
    },
  };
}

/** The signatures for which `gmn demo serve` would refuse a request; its other rules are among those of every request here. */
function demoSignatures() {
  const book = createSignatureBook();
  return {
    record: (parts: readonly WirePart[]) => book.record(toJsonObject({ candidates: [{ content: { parts } }] })),
    findObjection(text: string): string | undefined {
      const parsed = parseRequest(toJsonObject(JSON.parse(text)), STRICT_MODEL);
      return parsed.ok ? book.check(parsed.value.contents, STRICT_MODEL) : parsed.message;
    },
  };
}

function readRequest(text: string): Seen {
  const { contents, systemInstruction, tools } = toJsonObject(JSON.parse(text));
  const last = toJsonObject(filterObjects(contents).at(-1));
  const parts = filterObjects(last.parts).map(toJsonObject);
  const declared = filterObjects(tools).flatMap((tool) => filterObjects(tool.functionDeclarations));
  return {
    text: parts.map((part) => (typeof part.text === 'string' ? part.text : '')).join('\n'),
    results: parts.flatMap(({ functionResponse }) =>
      functionResponse === undefined ? [] : [toJsonObject(toJsonObject(functionResponse).response)],
    ),
    system: filterObjects(toJsonObject(systemInstruction).parts)
      .map((part) => String(part.text))
      .join('\n'),
    tools: declared.map((declaration) => String(declaration.name)),
  };
}

/** As the service does it: a thought before calls, ids on all of them, and a signature on the first, or else on the last text. */
function signReply(parts: readonly WirePart[], id: string): readonly WirePart[] {
  const first = parts.findIndex(({ functionCall }) => functionCall !== undefined);
  const signed = first < 0 ? parts.length - 1 : first;
  const thoughtSignature = Buffer.from(`signature of ${id} ☃`).toString('base64');
  const marked = parts.map((part, index) => ({
    ...part,
    ...(part.functionCall === undefined
      ? {}
      : { functionCall: { id: `${id}-${index}`, ...toJsonObject(part.functionCall) } }),
    ...(index === signed ? { thoughtSignature } : {}),
  }));
  return first < 0 ? marked : [{ text: `What next in ${id}?`, thought: true }, ...marked];
}

/** Sizes do not depend on where the temporary directories of this machine are. */
function measure(bodies: readonly string[], places: readonly string[]): readonly RequestSize[] {
  const requests = bodies.map((body) =>
    toJsonObject(JSON.parse(places.reduce((text, path) => text.replaceAll(path, '/place'), body))),
  );
  return requests.map((request, index) => {
    const { systemInstruction, tools, contents } = request;
    const before = requests[index - 1];
    return {
      ...{ system: size(systemInstruction), tools: size(tools), contents: size(contents), total: size(request) },
      isPrefixKept: before === undefined || isPrefix(before, request),
    };
  });
}

function size(value: JsonValue | undefined): number {
  return value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value));
}

function isPrefix(before: JsonObject, after: JsonObject): boolean {
  const encodeRest = (request: JsonObject): string => JSON.stringify({ ...request, contents: [] });
  const contents = JSON.stringify(before.contents).slice(0, -1);
  return encodeRest(before) === encodeRest(after) && JSON.stringify(after.contents).startsWith(contents);
}
