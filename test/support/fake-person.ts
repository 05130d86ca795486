import { type ApprovalOptions, createApprover } from '../../src/approval/approve.ts';
import { createTerminalPerson, type RunPaused } from '../../src/approval/person.ts';
import { approvalPolicy, nonInteractiveDenial } from '../../src/approval/policy.ts';
import type { Out } from '../../src/core/io.ts';
import type { JsonObject } from '../../src/core/json.ts';
import type { CallDecision, Preview, Tool, ToolResult } from '../../src/core/tool.ts';
import { createBackgroundCommands } from '../../src/platform/process/background.ts';
import { INTERRUPT, type Tty } from '../../src/platform/terminal/tty.ts';
import { runShellCommand } from '../../src/tools/run-shell-command.ts';
import { findParts } from './command-parts.ts';

/** The error that the model gets after a plain no. */
export const NO =
  'The user said no to this call.\nDo not repeat it; ask what they would like instead, or continue without it.';

interface Person {
  readonly keys?: readonly string[];
  readonly lines?: readonly string[];
  readonly edits?: readonly (string | undefined)[];
  readonly rows?: number;
  readonly columns?: number;
  /** The width of the window after the first key. */
  readonly nextColumns?: number;
  readonly isStyled?: boolean;
  readonly hasPager?: boolean;
}

/** A person who answers from a list; records everything they are shown. */
export function fakePerson(
  {
    keys = [],
    lines = [],
    edits = [],
    rows = 24,
    columns = 80,
    nextColumns = columns,
    isStyled = false,
    hasPager = false,
  }: Person,
  options: Partial<ApprovalOptions> = {},
  terminal: Partial<Parameters<typeof createTerminalPerson>[0]> = {},
) {
  const queues = { keys: [...keys], lines: [...lines], edits: [...edits] };
  const told: string[] = [];
  let screen = '';
  const err: Out = {
    write: async (text) => {
      screen += text;
    },
    isTerminal: true,
    isStyled,
    columns,
  };
  const tty: Tty = {
    get columns() {
      return queues.keys.length < keys.length ? nextColumns : columns;
    },
    rows,
    key: async (_, show) => {
      await show();
      const key = queues.keys.shift();
      if (key === undefined) throw new Error('asked once too often');
      return key;
    },
    line: async (prompt) => {
      screen += prompt;
      return queues.lines.shift() ?? INTERRUPT;
    },
    edit: async (text, name) => {
      told.push(`edit ${name}: ${text}`);
      return queues.edits.shift();
    },
    page: async (text) => {
      told.push(`page ${text}`);
      return hasPager;
    },
    close: () => void told.push('close'),
  };
  const runPaused: RunPaused = async (work) => {
    told.push('hold');
    return work().finally(() => told.push('resume'));
  };
  const approve = createApprover({
    policy: approvalPolicy({ mode: 'default', allowed: [], isTrusted: () => false }),
    withPerson: createTerminalPerson({ err, env: {}, runPaused, openTty: () => tty, ...terminal }),
    explainDenial: async (call, scope) => nonInteractiveDenial(call.tool, scope, true),
    findSecret: async (_, args) => (args.file_path === '.env' ? '/w/.env' : undefined),
    permit: async (path) => void told.push(`permit ${path}`),
    findDirectory: async () => '/w/app',
    findParts,
    ...options,
  });
  const decide = (tool: Tool, args: JsonObject, signal = new AbortController().signal) =>
    approve(tool, { id: '1', name: tool.name, args }, { signal });
  /** The calls of one reply. */
  const decideAll = async (calls: readonly (readonly [Tool, JsonObject])[]) => {
    const pending = calls.map(([one, args]) => ({ tool: one, call: { id: '1', name: one.name, args } }));
    const verdicts: CallDecision[] = [];
    for (const [index, { tool: one, call }] of pending.entries()) {
      const following = pending.slice(index + 1);
      verdicts.push(await approve(one, call, { signal: new AbortController().signal, following }));
    }
    return verdicts;
  };
  return { approve, decide, decideAll, told, err, tty, screen: () => screen };
}

type PreviewOf = (args: JsonObject) => Preview | ToolResult;

export function tool(name: string, effect: Tool['effect'], preview?: PreviewOf): Tool {
  return {
    name,
    effect,
    description: '',
    input: preview === undefined ? {} : { properties: { command: {}, content: {} } },
    invoke: async () => ({ ok: true, response: {} }),
    ...(preview && { preview: async (args: JsonObject) => preview(args) }),
  };
}

export const SHELL = runShellCommand.create({
  shell: { path: '/bin/sh', args: ['-c'], isVerbatim: false },
  env: {},
  resolveDirectory: async () => '/w',
  storeOutput: async () => undefined,
  background: createBackgroundCommands(),
});
export const WRITE = tool('write_file', 'write', ({ content }) =>
  content === 'bad'
    ? { ok: false, response: { error: 'Bad\ncontent.' } }
    : { kind: 'diff', path: 'src/a.ts', diff: `@@ @@\n+${content}\n`, added: 1, removed: 0 },
);
export const READ = tool('read_file', 'read');
export const REMOTE = tool('files__delete', 'network');
