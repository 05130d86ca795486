import { loadOnce, raceWithAbort } from '../core/async.ts';
import { AppError } from '../core/error.ts';
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import { errorResult, type Tool, type ToolResult } from '../core/tool.ts';
import { createFaultFinder } from '../engine/answer/output-schema.ts';
import { toUsableSchema } from '../mcp/client/tools/schema.ts';
import { isBuiltinName } from '../tools/builtins.ts';
import { toGmnError } from './error.ts';
import type * as Public from './gmn.d.ts';

/** Throws GmnError `usage` for a name or a schema that no model could use. */
export const defineOwnTool: typeof Public.defineTool = ({ name, description, input, needsApproval = false, run }) => {
  const problem =
    findToolNameProblem(name) ??
    (typeof description === 'string' && description.trim() !== '' ? undefined : 'it has no description') ??
    findToolInputProblem(input) ??
    (typeof run === 'function' ? undefined : 'run is not a function');
  if (problem !== undefined) {
    throw toGmnError(
      new AppError('usage', `defineTool: ${problem}`, {
        hint: 'A tool has a name, a description, a schema of its input, and run, a function.',
      }),
    );
  }
  return { name, description, input, needsApproval, run };
};

function findToolNameProblem(name: unknown): string | undefined {
  if (typeof name !== 'string' || !/^[a-z_][\w.-]{0,63}$/i.test(name)) {
    return 'a name has 1 to 64 letters, digits, _, . and -, and begins with a letter or _';
  }
  // Tools of MCP servers are called <server>__<tool>: what is allowed for those must not hold for these.
  if (name.includes('__')) return `"${name}" has two _ together, which the names of MCP tools have`;
  return isBuiltinName(name) ? `gmn has a tool "${name}" of its own` : undefined;
}

function findToolInputProblem(input: unknown): string | undefined {
  if (!isObject(input) || (input.type !== undefined && input.type !== 'object'))
    return 'input must be a schema of an object';
  return toUsableSchema(input as JsonObject) === undefined ? 'the schema of its input cannot be used' : undefined;
}

/** The tool as the engine knows it. */
export function toEngineTool({ name, description, input, needsApproval, run }: Public.OwnTool): Tool {
  const document = input as JsonObject;
  const loadCheck = loadOnce(() => createFaultFinder(document, 'the arguments'));
  return {
    name,
    description,
    input: toUsableSchema(document) ?? {},
    effect: needsApproval ? 'execute' : 'read',
    isNeverAsked: needsApproval ? undefined : true,
    async invoke(args, signal) {
      const fault = (await loadCheck())(args);
      if (fault !== undefined) return errorResult(`The arguments are wrong: ${fault}`);
      try {
        // Also if it does not look at the signal.
        const value = await raceWithAbort(Promise.resolve(run(args as never, { signal })), signal);
        return toOwnToolResult(value);
      } catch (thrown) {
        signal.throwIfAborted();
        return errorResult(thrown instanceof Error ? thrown.message : String(thrown));
      }
    },
  };
}

/** Throws for what cannot be written as JSON. */
function toOwnToolResult(value: unknown): ToolResult {
  const text = JSON.stringify(value);
  const output: JsonValue = text === undefined ? '' : JSON.parse(text);
  return { ok: true, response: { output } };
}
