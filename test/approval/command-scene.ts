import { chmodSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { resolveParts } from '../../src/approval/command-parts.ts';
import { findPrefix, isGranted, type ResolvedCall } from '../../src/approval/grants.ts';
import type { JsonObject } from '../../src/core/json.ts';
import type { Permission } from '../../src/core/permission.ts';
import { findProgram } from '../../src/platform/process/program-path.ts';
import { toPermission } from '../../src/tools/rules.ts';
import { type Place, place, temporary } from '../tools/place.ts';

const PROGRAMS = ['npm', 'node', 'sh', 'git', 'ls', 'evil'];

export interface Scene extends Place {
  toCall(command: string, args?: JsonObject): Promise<ResolvedCall>;
  /** As `p` at a question gives it if `allowed` begins with `p:`, or as a rule of the settings does. */
  toPrefix(allowed: string): Promise<Permission>;
  /** Whether the later command runs unasked; ` ;; ` is between what was allowed. */
  decide(allowed: string, later: string): Promise<'run' | 'ask'>;
}

/** A workspace with secrets, links that lead to them and out of it, and a few programs on PATH. */
export async function commandScene(): Promise<Scene> {
  const outside = temporary({ id_rsa: 'key' });
  const bin = temporary(Object.fromEntries(PROGRAMS.map((name) => [name, ''])));
  const text = Object.fromEntries(['a.txt', 'a.c', 'src/a.ts', 'src/a.sh', 'tool.py'].map((name) => [name, 'x']));
  const others = { '.env': 'K=v', 'sub/package.json': '{}', 'AGENTS.md': '', '.git/config': '', 'sub/run': '' };
  const here = await place({ ...text, ...others, 'run.sh': '', gradlew: '' });
  for (const path of [...PROGRAMS.map((name) => join(bin, name)), join(here.root, 'run.sh')]) chmodSync(path, 0o755);
  symlinkSync(join(outside, 'id_rsa'), join(here.root, 'link'));
  symlinkSync('.env', join(here.root, 'notes'));
  symlinkSync(outside, join(here.root, 'sub/link'));
  const isProgram = (word: string, from: string): boolean => findProgram(word, { PATH: bin }, from) !== undefined;
  const toCall: Scene['toCall'] = async (command, args = {}) => {
    const directory = join(here.root, String(args.dir_path ?? '.'));
    const parts = await resolveParts(command, directory, { fence: here.workspace, isProgram });
    return { tool: here.tools.get('run_shell_command')!, args: { command, ...args }, directory, parts };
  };
  const toPrefix: Scene['toPrefix'] = async (allowed) => {
    if (!allowed.startsWith('p:')) return toPermission({ name: 'run_shell_command', command: allowed })!;
    const words = findPrefix(await toCall(allowed.slice(2)));
    if (words === undefined) throw new Error(`p is not offered for ${allowed}`);
    return { kind: 'prefix', words, directory: here.root };
  };
  return {
    ...here,
    toCall,
    toPrefix,
    decide: async (allowed, later) => {
      const grants = await Promise.all(allowed.split(' ;; ').map(toPrefix));
      return isGranted(grants, await toCall(later)) ? 'run' : 'ask';
    },
  };
}
