import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, type TestContext, test } from 'vitest';
import { fakeGemini, reply } from './support/gemini.ts';
import { GMN, place } from './support/gmn.ts';

/** What one run loads: our sources and bundled packages by V8's coverage, Node's own modules by its load list. */
async function loadedBy(t: TestContext, args: readonly string[], script: Parameters<typeof fakeGemini>[1] = []) {
  return loadedIn(place(t, { gemini: await fakeGemini(t, script) }), args);
}

async function loadedIn(
  { root, cwd, env }: Pick<ReturnType<typeof place>, 'root' | 'cwd' | 'env'>,
  args: readonly string[],
) {
  const coverage = join(root, 'coverage');
  const list = join(root, 'modules');
  const hook = fileURLToPath(new URL('./support/module-list.cjs', import.meta.url));
  const child = spawn(process.execPath, ['--require', hook, GMN, ...args], {
    cwd,
    env: { ...env, NODE_V8_COVERAGE: coverage, GMN_TEST_MODULES: list },
    stdio: 'ignore',
  });
  const [exitCode] = await once(child, 'exit');
  expect(exitCode).toBe(0);
  return { sources: sourcesIn(coverage), builtins: readFileSync(list, 'utf8').split('\n') };
}

function sourcesIn(coverage: string): readonly string[] {
  const chunks = JSON.parse(readFileSync(join(GMN, '../../dist/chunks.json'), 'utf8'));
  const files = readdirSync(coverage).map((name) => JSON.parse(readFileSync(join(coverage, name), 'utf8')));
  const run = new Set<string>();
  for (const { result } of files) {
    for (const { url } of result) run.add(basename(url));
  }
  const sources = [...run].flatMap((chunk) => (Object.hasOwn(chunks, chunk) ? chunks[chunk] : []));
  return [
    ...new Set(sources.map((path: string) => path.replace(/^.*node_modules\/((?:@[^/]+\/)?[^/]+).*$/, '$1'))),
  ].sort();
}

test('--version loads nothing of ours but the boot file', async (t) => {
  const { sources, builtins } = await loadedBy(t, ['--version']);
  expect(sources).toEqual([]);
  expect(builtins.filter((name) => ['net', 'tty', 'stream', 'http'].includes(name))).toEqual([]);
});

test('--help loads nothing of ours but the boot file', async (t) => {
  for (const flag of ['--help', '-h']) expect((await loadedBy(t, [flag])).sources).toEqual([]);
});

test('help --json loads nothing of ours but the boot file, and nothing of Node that --help does not', async (t) => {
  const [description, help] = [await loadedBy(t, ['help', '--json']), await loadedBy(t, ['--help'])];
  expect(description.sources).toEqual([]);
  expect(description.builtins.filter((name) => !help.builtins.includes(name))).toEqual([]);
});

test('a completion script is printed without loading anything of ours but the boot file', async (t) => {
  expect((await loadedBy(t, ['completion', 'bash'])).sources).toEqual([]);
});

test('a Tab that the command table answers loads nothing of ours but the boot file', async (t) => {
  expect((await loadedBy(t, ['__complete', 'zsh', 'gmn', '--mo'])).sources).toEqual([]);
});

test.for([
  ['models', '-m'],
  ['sessions', '-r'],
  ['servers', 'mcp get'],
  ['keys', 'config get'],
  ['templates', '--template'],
  ['tools', 'mcp call files'],
] as const)('completing %s loads neither parser, table, MCP nor network', async ([, line], t) => {
  const { sources, builtins } = await loadedBy(t, ['__complete', 'zsh', 'gmn', ...line.split(' '), '']);
  expect(sources).toContain('src/commands/complete.ts');
  expect(builtins.filter((name) => ['http', 'https', 'tls', 'internal/deps/undici/undici'].includes(name))).toEqual([]);
  const others = /^(?:commander|zod|@modelcontextprotocol|src\/cli\/(?:table\/|parse\.ts$))/;
  expect(sources.filter((source) => others.test(source))).toEqual([]);
});

/** What docs/architecture.md tells a newcomer to read, in the order of a run. */
function readingList(): readonly string[] {
  const page = readFileSync(new URL('../docs/architecture.md', import.meta.url), 'utf8');
  const [, table = ''] = /^To read it[\s\S]*?\n\n(\|[\s\S]*?)\n\n/m.exec(page) ?? [];
  return [...table.matchAll(/`([^`]+\.ts)`/g)].map(([, path]) => `src/${path}`);
}

const HEAVY = [
  'https',
  'tls',
  'crypto',
  'zlib',
  'child_process',
  'worker_threads',
  'readline',
  'dgram',
  'fs/promises',
  'internal/deps/undici/undici',
];

test('a one-shot loads only what it needs', async (t) => {
  const { sources, builtins } = await loadedBy(t, ['Hello'], [reply('hi')]);
  const [boot, ...files] = readingList();
  expect(boot).toBe('src/boot.ts');
  expect(files.length).toBeGreaterThan(15);
  // A plain prompt can be read through in twenty files.
  expect(files.length).toBeLessThan(20);
  expect(files.filter((file) => !sources.includes(file))).toEqual([]);
  expect(sources).toMatchInlineSnapshot(`
    [
      "src/agent/agent.ts",
      "src/agent/conversation.ts",
      "src/agent/turn.ts",
      "src/api/attempt.ts",
      "src/api/backend.ts",
      "src/api/call.ts",
      "src/api/chunk.ts",
      "src/api/gemini-api.ts",
      "src/api/payload.ts",
      "src/api/reply.ts",
      "src/api/sse.ts",
      "src/app/prune.ts",
      "src/app/run-setup.ts",
      "src/app/terminal-host.ts",
      "src/auth/choice.ts",
      "src/auth/credential.ts",
      "src/cli/invocation.ts",
      "src/cli/near-miss.ts",
      "src/cli/prompt-line.ts",
      "src/cli/values.ts",
      "src/cli/words.ts",
      "src/commands/prompt/prompt.ts",
      "src/config/context-place.ts",
      "src/config/document.ts",
      "src/config/environment.ts",
      "src/config/home.ts",
      "src/config/keys.ts",
      "src/config/layer.ts",
      "src/config/layers.ts",
      "src/config/settings.ts",
      "src/core/app.ts",
      "src/core/async.ts",
      "src/core/credential.ts",
      "src/core/error.ts",
      "src/core/event.ts",
      "src/core/flag.ts",
      "src/core/io.ts",
      "src/core/json.ts",
      "src/core/text/format.ts",
      "src/core/text/names.ts",
      "src/core/text/terminal.ts",
      "src/core/text/url.ts",
      "src/core/usage.ts",
      "src/engine/agent.ts",
      "src/engine/limits/limits.ts",
      "src/engine/model/backend.ts",
      "src/engine/model/model.ts",
      "src/engine/run.ts",
      "src/engine/session/conversation.ts",
      "src/engine/session/open-conversation.ts",
      "src/engine/turn.ts",
      "src/input/prompt.ts",
      "src/main.ts",
      "src/models/choice.ts",
      "src/models/generation.ts",
      "src/models/table.ts",
      "src/platform/app.ts",
      "src/platform/files/path.ts",
      "src/platform/files/small-file.ts",
      "src/platform/files/write-sync.ts",
      "src/platform/http/agent.ts",
      "src/platform/http/body.ts",
      "src/platform/http/direct.ts",
      "src/platform/http/exchange.ts",
      "src/platform/http/failure.ts",
      "src/platform/http/send.ts",
      "src/platform/runtime/abort.ts",
      "src/platform/runtime/clock.ts",
      "src/platform/runtime/exit.ts",
      "src/platform/runtime/native.ts",
      "src/platform/runtime/random-id.ts",
      "src/platform/runtime/signals.ts",
      "src/platform/runtime/system.ts",
      "src/platform/terminal/file-output.ts",
      "src/platform/terminal/io.ts",
      "src/platform/terminal/output-stream.ts",
      "src/platform/terminal/stdin.ts",
      "src/render/lazy.ts",
      "src/render/renderer.ts",
      "src/render/renderers.ts",
      "src/render/spinner.ts",
      "src/render/stderr.ts",
      "src/render/text.ts",
      "src/session/one-shot.ts",
      "src/session/record.ts",
      "src/session/usage-log.ts",
    ]
  `);
  expect(builtins.filter((name) => HEAVY.includes(name))).toEqual([]);
});

/** What a prompt with these flags loads beside what one without flags does, after an earlier prompt. */
async function loadedByFlags(t: TestContext, flags: readonly string[]) {
  const gemini = await fakeGemini(t, [reply('hi'), reply('hi again')]);
  const here = place(t, { gemini, files: { 'notes.txt': 'One line.\n' } });
  const { sources: plain } = await loadedIn(here, ['Hello']);
  const { sources, builtins } = await loadedIn(here, [...flags, 'Hello']);
  return {
    sources: sources.filter((source) => !plain.includes(source)),
    heavy: builtins.filter((name) => HEAVY.includes(name)),
  };
}

const FLAG_CHECKS = ['src/commands/prompt/options.ts'];

test('flags without a feature of their own load the checks of flags only', async (t) => {
  const flags = ['-m', 'gemini-2.5-pro', '-q', '-t', '30s', '--no-session', '--system', 'Briefly'];
  expect(await loadedByFlags(t, flags)).toEqual({ sources: FLAG_CHECKS, heavy: [] });
});

test.for([
  ['json', 'src/render/json.ts'],
  ['stream-json', 'src/render/stream-json.ts'],
] as const)('-o %s loads its renderer and the prices only', async ([format, renderer], t) => {
  const shared = ['src/models/prices.ts', 'src/render/json-parts.ts', 'src/render/json-text.ts'];
  const sources = [...FLAG_CHECKS, ...shared, renderer].sort();
  expect(await loadedByFlags(t, ['-o', format])).toEqual({ sources, heavy: [] });
});

test('-f loads what finds and reads files, and no tool', async (t) => {
  const { sources, heavy } = await loadedByFlags(t, ['-f', 'notes.txt']);
  expect(sources).toMatchInlineSnapshot(`
    [
      "src/auth/key-document.ts",
      "src/auth/own-secrets.ts",
      "src/commands/prompt/options.ts",
      "src/config/secrets.ts",
      "src/config/variables.ts",
      "src/core/content.ts",
      "src/core/text/decode.ts",
      "src/core/text/glob.ts",
      "src/core/text/media.ts",
      "src/core/text/office.ts",
      "src/core/text/path.ts",
      "src/core/text/secret-lists.ts",
      "src/core/text/secrets.ts",
      "src/core/text/shell-line.ts",
      "src/core/text/trim.ts",
      "src/engine/model/redaction.ts",
      "src/input/assembly.ts",
      "src/input/attachment.ts",
      "src/input/files.ts",
      "src/input/named-file.ts",
      "src/input/stdin.ts",
      "src/platform/files/directory-sync.ts",
      "src/platform/files/read-sync.ts",
      "src/platform/files/read.ts",
      "src/platform/host.ts",
      "src/platform/runtime/pace.ts",
      "src/tools/search/ignore.ts",
      "src/tools/search/walk.ts",
    ]
  `);
  expect(heavy).toEqual([]);
});

test('-c loads the sessions only', async (t) => {
  const { sources, heavy } = await loadedByFlags(t, ['-c']);
  expect(sources).toMatchInlineSnapshot(`
    [
      "src/agent/history.ts",
      "src/commands/prompt/options.ts",
      "src/core/content.ts",
      "src/core/text/path.ts",
      "src/core/text/trim.ts",
      "src/engine/session/kept-setup.ts",
      "src/engine/session/sessions.ts",
      "src/platform/files/append.ts",
      "src/platform/files/blobs.ts",
      "src/platform/files/lines.ts",
      "src/platform/files/lock.ts",
      "src/platform/files/read.ts",
      "src/platform/files/write.ts",
      "src/platform/files/writing-target.ts",
      "src/platform/process/identity.ts",
      "src/session/find.ts",
      "src/session/load.ts",
      "src/session/open-session.ts",
      "src/session/parse.ts",
      "src/session/session-file.ts",
      "src/session/store.ts",
    ]
  `);
  expect(heavy).toEqual([]);
});

test('--tools read with no call made loads the tools, fence and session, and no library', async (t) => {
  const { sources, heavy } = await loadedByFlags(t, ['--tools', 'read']);
  // The tools themselves, and the parts they are made of, may be any.
  expect(sources.filter((source) => !/^src\/tools\/[^/]+$/.test(source))).toMatchInlineSnapshot(`
    [
      "src/agent/prompt.ts",
      "src/api/reply-calls.ts",
      "src/approval/grants.ts",
      "src/approval/policy.ts",
      "src/commands/prompt/options.ts",
      "src/config/permissions-file.ts",
      "src/core/content.ts",
      "src/core/permission.ts",
      "src/core/schema.ts",
      "src/core/text/command-line.ts",
      "src/core/text/decode.ts",
      "src/core/text/glob.ts",
      "src/core/text/media.ts",
      "src/core/text/path.ts",
      "src/core/text/pattern-literal.ts",
      "src/core/text/quote.ts",
      "src/core/text/secret-lists.ts",
      "src/core/text/secrets.ts",
      "src/core/text/shell-line.ts",
      "src/core/text/text-file.ts",
      "src/core/text/trim.ts",
      "src/core/tool.ts",
      "src/engine/instruction/agent-prompt.ts",
      "src/engine/session/kept-setup.ts",
      "src/engine/session/sessions.ts",
      "src/engine/tools/permissions.ts",
      "src/engine/tools/toolbox.ts",
      "src/platform/files/append.ts",
      "src/platform/files/blobs.ts",
      "src/platform/files/directory-handle.ts",
      "src/platform/files/directory-sync.ts",
      "src/platform/files/lines.ts",
      "src/platform/files/lock.ts",
      "src/platform/files/read-sync.ts",
      "src/platform/files/read.ts",
      "src/platform/files/regular-file.ts",
      "src/platform/files/run-directory.ts",
      "src/platform/files/write.ts",
      "src/platform/files/writing-target.ts",
      "src/platform/host.ts",
      "src/platform/process/background.ts",
      "src/platform/process/environment.ts",
      "src/platform/process/group.ts",
      "src/platform/process/identity.ts",
      "src/platform/process/program-path.ts",
      "src/platform/process/run.ts",
      "src/platform/process/shell-choice.ts",
      "src/platform/process/shell.ts",
      "src/platform/process/windows-command.ts",
      "src/platform/process/worker.ts",
      "src/platform/runtime/pace.ts",
      "src/session/find.ts",
      "src/session/load.ts",
      "src/session/open-session.ts",
      "src/session/parse.ts",
      "src/session/session-file.ts",
      "src/session/store.ts",
      "src/tools/search/engine.ts",
      "src/tools/search/ignore.ts",
      "src/tools/search/ripgrep.ts",
      "src/tools/search/walk.ts",
      "src/tools/workspace/fence.ts",
      "src/tools/workspace/file-error.ts",
      "src/tools/workspace/line-window.ts",
      "src/tools/workspace/protected-lists.ts",
      "src/tools/workspace/protection.ts",
      "src/tools/workspace/workspace.ts",
    ]
  `);
  expect(heavy).toEqual(['fs/promises']);
});
