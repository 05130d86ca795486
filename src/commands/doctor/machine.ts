import type { App } from '../../core/app.ts';
import { realPath } from '../../platform/files/path.ts';
import { pathStatus } from '../../platform/files/path-status.ts';
import { programPath } from '../../platform/process/program-path.ts';
import { codeCacheState } from '../../platform/runtime/code-cache.ts';
import type { Runtime } from '../../platform/runtime.ts';
import { findRipgrep } from '../../tools/search/ripgrep.ts';
import { type Finding, isUtf8, shellWord } from './finding.ts';

/** The oldest Node that gmn runs on; package.json says the same. */
export const OLDEST_NODE = '20.18.1';

/** Node, gmn itself, and what makes it faster. */
export function programFindings(app: App, runtime: Runtime): readonly Finding[] {
  return [nodeFinding(runtime), gmnFinding(app, runtime), cacheFinding(app, runtime), ripgrepFinding(app)];
}

function nodeFinding({ node, builtIn, platform, arch }: Runtime): Finding {
  if (builtIn !== undefined)
    return { check: 'node', state: 'ok', text: `not needed: ${builtIn} is built in, on ${platform} ${arch}` };
  const text = `${node} on ${platform} ${arch}`;
  if (node.localeCompare(OLDEST_NODE, 'en', { numeric: true }) >= 0) return { check: 'node', state: 'ok', text };
  return {
    check: 'node',
    state: 'failure',
    fault: 'config',
    text: `${text}; gmn needs ${OLDEST_NODE} or newer`,
    remedies: [{ words: 'Get it at https://nodejs.org' }],
  };
}

function gmnFinding({ version, env, cwd }: App, { program }: Runtime): Finding {
  const text = `${version}${program === undefined ? '' : ` in ${program}`}`;
  const found = programPath('gmn', env, cwd);
  const other = found === undefined ? undefined : realPath(found);
  if (other === undefined) return { check: 'gmn', state: 'ok', text: `${text}, not on PATH` };
  // What npm puts on PATH on Windows, and some package managers elsewhere, is a script that starts the program.
  if (other === program || !other.endsWith('gmn.js')) return { check: 'gmn', state: 'ok', text };
  return {
    check: 'gmn',
    state: 'warning',
    text: `${text}; "gmn" on PATH is another one: ${other}`,
    remedies: [{ words: 'To see which it is', command: 'gmn --version' }],
  };
}

function cacheFinding({ version }: App, { builtIn }: Runtime): Finding {
  if (builtIn !== undefined) return { check: 'code-cache', state: 'ok', text: 'not needed: gmn is compiled already' };
  const state = codeCacheState(version);
  if (state === undefined) return { check: 'code-cache', state: 'absent', text: 'no place to keep it' };
  const { directory, isUsable } = state;
  if (isUsable) return { check: 'code-cache', state: 'ok', text: directory };
  const status = pathStatus(directory);
  if (status === undefined) return { check: 'code-cache', state: 'absent', text: 'not written yet' };
  return {
    check: 'code-cache',
    state: 'warning',
    text: `${directory} is not used: ${status.isOurs ? 'others may write to it' : 'it belongs to another user'}`,
    remedies: [{ words: 'gmn makes a new one if you remove it', command: `rm -r ${shellWord(directory)}` }],
  };
}

function ripgrepFinding({ env, cwd }: App): Finding {
  const program = findRipgrep(env, [realPath(cwd) ?? cwd]);
  if (program !== undefined) return { check: 'ripgrep', state: 'ok', text: program };
  return { check: 'ripgrep', state: 'absent', text: 'not found; searching works without it, only slower' };
}

/** What is known of the terminal. */
export function terminalFinding({ env, io: { out } }: App, { platform }: Runtime): Finding {
  const kind = out.isTerminal ? `${env.TERM || 'TERM not set'}, ${out.columns} columns` : 'stdout is not a terminal';
  const text = `${kind}, colour ${out.isStyled ? 'on' : 'off'}`;
  if (isUtf8(env, platform)) return { check: 'terminal', state: 'ok', text: `${text}, UTF-8` };
  return {
    check: 'terminal',
    state: 'warning',
    text: `${text}, the locale is not UTF-8`,
    remedies: [{ words: 'Choose one that is', command: 'export LANG=C.UTF-8' }],
  };
}
