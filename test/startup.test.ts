import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, type TestContext, test } from 'vitest';
import { fakeGemini, reply } from './support/fake-gemini.ts';
import { GMN, place } from './support/gmn.ts';

/** What one run loads: our sources and bundled packages by V8's coverage, Node's own modules by its load list. */
async function loadedBy(t: TestContext, args: readonly string[], script: Parameters<typeof fakeGemini>[1] = []) {
  const { root, cwd, env } = place(t, { gemini: await fakeGemini(t, script) });
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
  expect((await loadedBy(t, ['--help'])).sources).toEqual([]);
});

test('a completion script is printed without loading anything of ours but the boot file', async (t) => {
  expect((await loadedBy(t, ['completion', 'bash'])).sources).toEqual([]);
});

test.for(['models', 'sessions', 'servers', 'keys'])('completing %s loads neither parser nor table', async (what, t) => {
  const { sources } = await loadedBy(t, ['__complete', what]);
  expect(sources).toContain('src/commands/complete.ts');
  expect(
    sources.filter((source) => !source.startsWith('src/') || /^src\/cli\/(?:table\/|parse\.ts$)/.test(source)),
  ).toEqual([]);
});

/** What docs/architecture.md tells a newcomer to read, in the order of a run. */
function readingList(): readonly string[] {
  const page = readFileSync(new URL('../docs/architecture.md', import.meta.url), 'utf8');
  const [, table = ''] = /^To read it[\s\S]*?\n\n(\|[\s\S]*?)\n\n/m.exec(page) ?? [];
  return [...table.matchAll(/`([^`]+\.ts)`/g)].map(([, path]) => `src/${path}`);
}

test('a one-shot loads only what it needs', async (t) => {
  const { sources, builtins } = await loadedBy(t, ['Hello'], [reply('hi')]);
  const [boot, ...files] = readingList();
  expect(boot).toBe('src/boot.ts');
  expect(files.length).toBeGreaterThan(15);
  expect(files.filter((file) => !sources.includes(file))).toEqual([]);
  expect(sources).toMatchInlineSnapshot(`
    [
      "src/agent/agent.ts",
      "src/agent/turn.ts",
      "src/api/backend.ts",
      "src/api/call.ts",
      "src/api/gemini-api.ts",
      "src/api/payload.ts",
      "src/api/reply.ts",
      "src/api/sse.ts",
      "src/app/agent.ts",
      "src/app/backend.ts",
      "src/app/history.ts",
      "src/app/model.ts",
      "src/auth/choice.ts",
      "src/auth/credential.ts",
      "src/cli/invocation.ts",
      "src/cli/prompt-line.ts",
      "src/cli/values.ts",
      "src/commands/prompt/prompt.ts",
      "src/config/context-place.ts",
      "src/config/document.ts",
      "src/config/environment.ts",
      "src/config/home.ts",
      "src/config/keys.ts",
      "src/config/layer.ts",
      "src/config/layers.ts",
      "src/config/settings.ts",
      "src/core/error.ts",
      "src/core/event.ts",
      "src/core/json.ts",
      "src/core/text/format.ts",
      "src/core/text/names.ts",
      "src/core/text/terminal.ts",
      "src/core/text/url.ts",
      "src/core/usage.ts",
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
      "src/platform/runtime/native.ts",
      "src/platform/runtime/random-id.ts",
      "src/platform/runtime/signals.ts",
      "src/platform/runtime/system.ts",
      "src/platform/terminal/io.ts",
      "src/platform/terminal/output-stream.ts",
      "src/platform/terminal/stdin.ts",
      "src/render/lazy.ts",
      "src/render/renderers.ts",
      "src/render/spinner.ts",
      "src/render/stderr.ts",
      "src/render/text.ts",
      "src/session/one-shot.ts",
      "src/session/record.ts",
    ]
  `);
  const heavy = [
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
  expect(builtins.filter((name) => heavy.includes(name))).toEqual([]);
});
