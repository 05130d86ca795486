import { spawn } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { TestContext } from 'vitest';
import { GMN } from './gmn.ts';

export interface ShellPlace {
  readonly root: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Runs command lines one after the other in bash, where `gmn` is the program under test, and records them: `$ line`, then `out│ …`, `err│
 * …` and `=> code`. A pipe fails if one of its programs does.
 */
export async function transcriptOf(t: TestContext, lines: readonly string[], place: ShellPlace): Promise<string> {
  const bin = join(place.root, 'bin');
  mkdirSync(bin, { recursive: true });
  symlinkSync(GMN, join(bin, 'gmn'));
  const env = { ...place.env, PATH: `${bin}${delimiter}${place.env.PATH}` };
  const written: string[] = [];
  for (const line of lines) written.push(await ran(t, line, { cwd: place.cwd, env }));
  return written.join('');
}

async function ran(t: TestContext, line: string, where: Pick<ShellPlace, 'cwd' | 'env'>): Promise<string> {
  const child = spawn('bash', ['-o', 'pipefail', '-c', line], { ...where, stdio: ['ignore', 'pipe', 'pipe'] });
  t.onTestFinished(() => void child.kill('SIGKILL'));
  const texts = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (texts.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (texts.err += text));
  const exitCode = await new Promise((resolve) => child.on('close', resolve));
  return `$ ${line}\n${marked('out', texts.out)}${marked('err', texts.err)}=> ${exitCode}\n`;
}

function marked(stream: string, text: string): string {
  const lines = text === '' ? [] : text.replace(/\n$/, '').split('\n');
  return lines.map((line) => `${stream}│ ${line}`.trimEnd().concat('\n')).join('');
}
