import { AppError } from '../core/error.ts';
import { isObject, type JsonObject, toJsonObject } from '../core/json.ts';

const METHODS = ['generateContent', 'generateContentStream', 'countTokens', 'embedContent'] as const;

export type ScriptMethod = (typeof METHODS)[number];

export interface ScriptLine {
  readonly method: ScriptMethod;
  readonly responses: readonly JsonObject[];
}

/** One `{"method","response"}` object per line, as the official CLI records them. Throws AppError `usage`. */
export function parseScript(text: string, name: string): readonly ScriptLine[] {
  const lines: ScriptLine[] = [];
  for (const [index, line] of text
    .replace(/^\ufeff/, '')
    .split('\n')
    .entries()) {
    if (line.trim() !== '') lines.push(parseScriptLine(line, `${name}:${index + 1}`));
  }
  return lines;
}

function parseScriptLine(line: string, where: string): ScriptLine {
  const fail = (why: string): AppError =>
    new AppError('usage', `${where}: ${why}`, {
      hint: 'Each line is an object such as {"method":"generateContentStream","response":[{"candidates":[…]}]}.',
    });
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw fail(`not JSON (${cause instanceof Error ? cause.message : 'unreadable'})`);
  }
  const { method: named, response } = toJsonObject(value);
  const method = METHODS.find((known) => known === named);
  if (method === undefined) throw fail(`"method" must be one of ${METHODS.join(', ')}`);
  if (method !== 'generateContentStream') {
    if (!isObject(response)) throw fail(`"response" of ${method} must be an object`);
    return { method, responses: [toJsonObject(response)] };
  }
  if (!Array.isArray(response) || !response.every(isObject))
    throw fail('"response" of a stream must be an array of objects');
  return { method, responses: response.map(toJsonObject) };
}

export function createScriptReader(
  lines: readonly ScriptLine[],
): (method: ScriptMethod) => readonly JsonObject[] | undefined {
  const rest = [...lines];
  return (method) => {
    const index = rest.findIndex((line) => line.method === method);
    return index < 0 ? undefined : rest.splice(index, 1)[0]?.responses;
  };
}
