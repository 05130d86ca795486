// What the suite starts as the client: the real program, as `gmn mcp probe`. The suite appends the address, and tells by its
// variables what a person would have configured.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const home = mkdtempSync(join(tmpdir(), 'gmn-conformance-'));
try {
  const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT || '{}');
  const client = context.client_id ? { clientId: context.client_id, clientSecret: context.client_secret } : {};
  const clientMetadataUrl = 'https://conformance-test.local/client-metadata.json';
  writeFileSync(join(home, 'oauth.json'), JSON.stringify({ clientMetadataUrl, ...client }));
  const browser = join(home, 'browser');
  writeFileSync(browser, '#!/usr/bin/env node\nfetch(process.argv[2]).then((answer) => answer.text());\n');
  chmodSync(browser, 0o755);
  const calls = context.toolCalls ? ['--calls', JSON.stringify(context.toolCalls)] : ['--call-tools'];
  const flags = ['--accept-defaults', ...calls, '--oauth', `@${join(home, 'oauth.json')}`];
  const { status } = spawnSync(process.execPath, [process.env.GMN_BIN, 'mcp', 'probe', ...flags, process.argv.at(-1)], {
    stdio: 'inherit',
    env: { PATH: process.env.PATH, HOME: home, BROWSER: browser },
  });
  process.exitCode = status ?? 1;
} finally {
  rmSync(home, { recursive: true, force: true });
}
