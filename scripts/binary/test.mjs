// `npm run test:binary`: builds the executable and runs against it the tests of the command line, of the MCP server and of
// one variant per fault; then those of the HTTP client inside the runtime that the executable contains. What is not run, and
// why not, is in test/standalone/skips.ts. Words narrow it down to some of the tests of the first kind.
import { join } from 'node:path';
import { root, run } from '../project.mjs';
import { compiler } from './compiler.mjs';

const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
const config = (name) => ['run', '--config', `test/standalone/${name}.config.mts`];
const program = join(root, 'dist-binary', process.platform === 'win32' ? 'gmn.exe' : 'gmn');
const words = process.argv.slice(2);
const all = ['test/standalone', 'test/cli', 'test/mcp/server', 'test/commands/demo/demo.test.ts', 'test/faults'];

// Some of the tests look at the package as well.
run(process.execPath, [join(root, 'scripts', 'build.mjs')]);
run(process.execPath, [join(root, 'scripts', 'binary', 'build.mjs')]);
run(process.execPath, [vitest, ...config('binary'), ...(words.length > 0 ? words : all)], {
  env: { ...process.env, GMN_BIN: program },
});
if (words.length === 0)
  run(compiler(), ['--bun', vitest, ...config('runtime'), 'test/platform/http', 'test/platform/runtime/system']);
