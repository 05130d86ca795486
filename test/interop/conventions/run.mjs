// `npm run test:conventions [-- --allow-skip]`: skills, sub-agents and hooks that others have published for Claude Code and its like,
// read by gmn without a change. They come from ../../peers (conventions) and are installed into a cache outside the tree.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { peerVersion, requirePeers } from '../../peers/install.mjs';
import { scriptedModel } from '../mcp/model.mjs';
import { cleanEnv, runNode } from '../processes.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const { values: flags } = parseArgs({
  options: { 'allow-skip': { type: 'boolean' }, gmn: { type: 'string', default: join(root, 'bin', 'gmn.js') } },
});
const cache = requirePeers('conventions', 'the packages', { isSkipAllowed: flags['allow-skip'] });
const PACKAGES = ['@tanstack/intent', 'bmad-method', 'ecc-universal'];
const LEAST = { skills: 4, agents: 5 };
const scratch = mkdtempSync(join(tmpdir(), 'gmn-conventions-'));
const rows = [];
try {
  for (const name of PACKAGES) await readSkills(name);
  await readAgents('ecc-universal');
  for (const hook of HOOKS()) await runHook(hook);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
report();
process.exitCode = rows.length > 0 && rows.every(({ ok }) => ok) ? 0 : 1;

function packagePath(name, ...rest) {
  return join(cache, 'node_modules', name, ...rest);
}

function row(what, detail, ok) {
  rows.push({ what, ok, detail });
  console.log(`${ok ? 'ok  ' : 'FAIL'}  ${what}: ${detail}`);
}

function makePlace(name) {
  const home = join(scratch, name);
  const cwd = join(home, 'work');
  mkdirSync(cwd, { recursive: true });
  return { home, cwd, env: cleanEnv(home) };
}

/**
 * Each folder with a SKILL.md, under its own name. Translations of the same ones are left out, and files without front matter, which are
 * prompts for other programs and no skills.
 */
async function readSkills(name) {
  const place = makePlace(`skills-${basename(name)}`);
  const files = readdirSync(packagePath(name), { recursive: true, encoding: 'utf8' }).filter(
    (path) =>
      /(?:^|[\\/])SKILL\.md$/.test(path) &&
      !/^docs[\\/]|node_modules/.test(path) &&
      readFileSync(packagePath(name, path), 'utf8').startsWith('---'),
  );
  const taken = new Set();
  for (const path of files) {
    const folder = basename(dirname(path));
    if (!taken.has(folder))
      cpSync(packagePath(name, dirname(path)), join(place.home, '.claude', 'skills', folder), { recursive: true });
    taken.add(folder);
  }
  const listed = await runNode([flags.gmn, 'skills', 'list', '--json'], place);
  const { skills, skipped } = JSON.parse(listed.out);
  const why = skipped.map((each) => `${each.name} (${each.why})`).join(', ');
  row(
    `skills of ${name} ${peerVersion(name)}`,
    `${skills.length} of ${taken.size} read${why && `; ${why}`}`,
    skills.length === taken.size,
  );
}

async function readAgents(name) {
  const place = makePlace('agents');
  cpSync(packagePath(name, 'agents'), join(place.home, '.claude', 'agents'), { recursive: true });
  const { out } = await runNode([flags.gmn, 'doctor', '--json'], place);
  const found = JSON.parse(out).checks.filter(({ check }) => check === 'agents');
  const read = found.filter(({ state }) => state === 'ok');
  const why = found
    .filter(({ state }) => state !== 'ok')
    .map(({ text }) => text)
    .join('; ');
  row(
    `agents of ${name} ${peerVersion(name)}`,
    `${read.length} of ${found.length} read${why && `; ${why}`}`,
    read.length === found.length && read.length >= LEAST.agents,
  );
}

/** What each of the scripts is there for, and what the model is told then. */
function HOOKS() {
  const bash = (command) => ({ name: 'run_shell_command', args: { command } });
  const write = (file_path) => ({ name: 'write_file', args: { file_path, content: 'console.log(1);\n' } });
  return [
    ['PreToolUse', 'Bash', 'block-no-verify.js', bash('git commit --no-verify -m x'), /BLOCKED: --no-verify/],
    ['PreToolUse', 'Bash', 'block-no-verify.js', bash('echo fine'), /fine/],
    ['PreToolUse', 'Bash', 'pre-bash-dev-server-block.js', bash('npm run dev'), /BLOCKED: Dev server/],
    ['PreToolUse', 'Write', 'doc-file-warning.js', write('NOTES.md'), /\[Hook\]/],
    ['PreToolUse', 'Bash', 'pre-bash-git-push-reminder.js', bash('echo pushed'), /pushed/],
    ['PostToolUse', 'Write', 'post-edit-console-warn.js', write('a.js'), /a\.js|created|written|output/],
    ['PostToolUse', 'Bash', 'post-bash-command-log.js', bash('echo logged'), /logged/],
  ].map(([event, matcher, script, call, wanted]) => ({ event, matcher, script, call, wanted }));
}

async function runHook({ event, matcher, script, call, wanted }) {
  const place = makePlace(`hook-${rows.length}`);
  const command = `node ${JSON.stringify(packagePath('ecc-universal', 'scripts', 'hooks', script))}`;
  mkdirSync(join(place.home, '.gemini'));
  const hooks = { [event]: [{ matcher, hooks: [{ type: 'command', command, timeout: 30 }] }] };
  writeFileSync(join(place.home, '.gemini', 'settings.json'), JSON.stringify({ hooks }));
  const model = await scriptedModel([[call]]);
  try {
    const env = { ...place.env, ...model.env };
    const args = [flags.gmn, '--tools', 'all', '--yolo', '-o', 'json', 'work'];
    const { out } = await runNode(args, { ...place, env });
    const { response, warnings = [] } = JSON.parse(out);
    const told = JSON.stringify(model.answers[0]?.response ?? {});
    const ok = response === 'turn 1 done' && wanted.test(told) && !warnings.some((each) => /failed/.test(each));
    row(
      `${event} ${script} of ecc-universal, ${Object.values(call.args)[0]}`,
      `${told.slice(0, 120)}${ok ? '' : ` ${warnings.join(' ')}`}`,
      ok,
    );
  } finally {
    model.close();
  }
}

function report() {
  const date = new Date().toISOString().slice(0, 10);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const result = { date, gmn: version, node: process.version, system: `${process.platform} ${process.arch}`, rows };
  const text = `${JSON.stringify(result, undefined, 2)}\n`
    .replaceAll(scratch, '<scratch>')
    .replaceAll(cache, '<cache>');
  writeFileSync(join(root, 'docs', 'dev', 'results', `conventions-${date}.json`), text);
}
