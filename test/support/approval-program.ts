import { writeFileSync } from 'node:fs';
import { createTerminalHost } from '../../src/app/terminal-host.ts';
import { createApprover } from '../../src/approval/approve.ts';
import { type ApprovalMode, approvalPolicy } from '../../src/approval/policy.ts';
import type { App } from '../../src/core/app.ts';
import type { JsonObject } from '../../src/core/json.ts';
import type { Tool } from '../../src/core/tool.ts';
import { createBackgroundCommands } from '../../src/platform/process/background.ts';
import { createInterruptSignal } from '../../src/platform/runtime/signals.ts';
import { processIo } from '../../src/platform/terminal/io.ts';
import { runShellCommand } from '../../src/tools/run-shell-command.ts';

export interface Script {
  readonly calls: readonly { readonly name: string; readonly args: JsonObject }[];
  readonly mode?: ApprovalMode;
  readonly isTextFormat?: boolean;
  /** The calls are of one reply. */
  readonly isTogether?: boolean;
  readonly color?: 'always' | 'never';
}

/** A program that only asks for approval and prints what was decided. */
writeFileSync('pid', String(process.pid));
const script: Script = JSON.parse(process.env.SCRIPT ?? '');
const io = processIo(script.color ?? 'never', process.env);
const signal = createInterruptSignal();

const shell = runShellCommand.create({
  shell: { path: '/bin/sh', args: ['-c'], isVerbatim: false },
  env: process.env,
  resolveDirectory: async () => process.cwd(),
  storeOutput: async () => undefined,
  background: createBackgroundCommands(),
});
const write: Tool = {
  name: 'write_file',
  description: '',
  effect: 'write',
  input: { properties: { command: {}, content: {} } },
  preview: async ({ file_path, content }) => {
    if (content === 'refused') return { ok: false, response: { error: 'This cannot be written.' } };
    const rows = String(content).split('\n');
    const diff = `--- a\n+++ b\n@@ -1 +1 @@\n-old\n${rows.map((row) => `+${row}\n`).join('')}`;
    return { kind: 'diff', path: String(file_path), diff, added: rows.length, removed: 1 };
  },
  invoke: async ({ content }) => ({ ok: true, response: { written: String(content) } }),
};
const read: Tool = { ...plainTool('read_file', 'read') };
const remote: Tool = { ...plainTool('files__delete', 'network') };

function plainTool(name: string, effect: Tool['effect']): Tool {
  return {
    name,
    effect,
    description: '',
    input: { properties: { command: {}, content: {} } },
    invoke: async (args) => ({ ok: true, response: { args } }),
  };
}

const told: string[] = [];
const host = createTerminalHost({ io, env: process.env } as unknown as App, {
  notify: () => {},
  isText: script.isTextFormat ?? true,
  runPaused: async (work) => {
    told.push('hold');
    return work().finally(() => told.push('resume'));
  },
});
const approve = createApprover({
  policy: approvalPolicy({ mode: script.mode ?? 'default', allowed: [], isTrusted: () => false }),
  withPerson: host.withPerson ?? (async () => undefined),
  explainDenial: host.explainDenial,
  findSecret: async (_, args) => (args.file_path === '.env' ? '/w/.env' : undefined),
  permit: async () => void told.push('permit'),
});

const pending = script.calls.map((call, index) => ({
  tool: [shell, write, read, remote].find(({ name }) => name === call.name) ?? remote,
  call: { id: String(index), ...call },
}));
const following = (index: number) => (script.isTogether ? pending.slice(index + 1) : []);

for (const [index, { tool, call }] of pending.entries()) {
  const verdict = await approve(tool, call, { signal, following: following(index) });
  const args = verdict.kind === 'run-edited' ? verdict.args : call.args;
  const isRun = verdict.kind === 'run' || verdict.kind === 'run-edited';
  const outcome = isRun ? await tool.invoke(args, new AbortController().signal) : undefined;
  process.stdout.write(
    `\nVERDICT ${JSON.stringify({ verdict, ...(outcome && { response: outcome.response }), told: told.splice(0) })}\n`,
  );
}
process.exitCode = signal.aborted ? 9 : 0;
