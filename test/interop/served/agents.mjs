import { equal, match } from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnv, runNode } from '../processes.mjs';
import { mockModels } from './mock-models.mjs';

const KEY = 'a-key-that-opens-nothing';
/** Nothing listens there: what they want of their makers fails at once. */
const NOWHERE = { HTTPS_PROXY: 'http://127.0.0.1:9', HTTP_PROXY: 'http://127.0.0.1:9', NO_PROXY: '127.0.0.1' };

/** Claude Code and Codex with `gmn mcp serve` as one of their servers, added by their own commands; their models are mocks. */
export async function agents({ agentCache, scratch, served, row }) {
  const models = await mockModels();
  try {
    for (const make of [claudeCode, codex]) {
      for (const mode of ['stdio', 'http']) {
        const home = join(scratch, `${make.name}-${mode}`);
        const cwd = join(home, 'work');
        mkdirSync(cwd, { recursive: true });
        writeFileSync(join(cwd, 'notes.txt'), 'hello from a file\n');
        const agent = make({ packages: join(agentCache, 'node_modules'), home, model: models.url, served });
        const run = async (args, env = agent.env) => {
          const { exitCode, out, errors } = await runNode([agent.program, ...args], { cwd, env });
          equal(exitCode, 0, `${out}\n${errors}`);
          return out;
        };
        await checkAgent({ agent, mode, run, row });
      }
    }
  } finally {
    models.close();
  }
}

async function checkAgent({ agent, mode, run, row }) {
  const check = (what, test) => row(agent.name, mode, what, test);
  const called = async (tool, given) => run(agent.ask(`call ${tool} ${JSON.stringify(given)}`));
  await check('adds the server, and lists it', async () => {
    await run(agent.add[mode]);
    match(await run(['mcp', 'list']), agent.listed);
  });
  await check('its model calls generate_text', async () =>
    match(await called('generate_text', { prompt: 'Hello' }), /Hello! How can I/),
  );
  await check('its model delegates', async () =>
    match(await called('delegate', { prompt: 'Hello' }), /Hello! How can I/),
  );
  await check('a refusal reaches its model', async () =>
    match(await called('delegate', { prompt: 'x', working_directory: '/' }), /INVALID_DIRECTORY/),
  );
  await check('Gemini behind it reads a file', async () => {
    const prompt = 'call read_file {"file_path":"notes.txt"}';
    match(await called('chat', { prompt }), /hello from a file/);
  });
}

function claudeCode({ packages, home, model, served }) {
  const bundle = join(packages, '@anthropic-ai', 'claude-code');
  const bearer = `Authorization: Bearer ${served.token}`;
  return {
    name: `claude-code ${versionOf(bundle)}`,
    program: join(bundle, 'cli-wrapper.cjs'),
    env: cleanEnv(home, {
      ...NOWHERE,
      ANTHROPIC_API_KEY: KEY,
      ANTHROPIC_BASE_URL: model,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      // Else it hides the tools of servers behind a search, which our model does not do.
      ENABLE_TOOL_SEARCH: 'false',
    }),
    add: {
      stdio: ['mcp', 'add', 'gemini', '--', ...served.stdio],
      http: ['mcp', 'add', '--transport', 'http', 'gemini', served.http, '--header', bearer],
    },
    listed: /gemini.*Connected/,
    ask: (prompt) => ['-p', prompt, '--allowedTools', 'mcp__gemini'],
  };
}

function codex({ packages, home, model, served }) {
  const bundle = join(packages, '@openai', 'codex');
  const settings = [
    'model = "mock"',
    'model_provider = "mock"',
    '[model_providers.mock]',
    'name = "mock"',
    `base_url = "${model}/v1"`,
    'wire_api = "responses"',
    'env_key = "MOCK_KEY"',
  ];
  mkdirSync(join(home, '.codex'), { recursive: true });
  writeFileSync(join(home, '.codex', 'config.toml'), `${settings.join('\n')}\n`);
  return {
    name: `codex ${versionOf(bundle)}`,
    program: join(bundle, 'bin', 'codex.js'),
    env: cleanEnv(home, { ...NOWHERE, MOCK_KEY: KEY, GMN_TOKEN: served.token }),
    add: {
      stdio: ['mcp', 'add', 'gemini', '--', ...served.stdio],
      http: ['mcp', 'add', 'gemini', '--url', served.http, '--bearer-token-env-var', 'GMN_TOKEN'],
    },
    listed: /gemini.*enabled/,
    ask: (prompt) => ['exec', '--skip-git-repo-check', prompt],
  };
}

function versionOf(bundle) {
  return JSON.parse(readFileSync(join(bundle, 'package.json'), 'utf8')).version;
}
