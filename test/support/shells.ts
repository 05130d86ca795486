import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawn } from '@lydell/node-pty';
import type { TestContext } from 'vitest';
import { GMN_LINE, type GmnOptions, place } from './gmn.ts';

export function shellAt(name: string): string | undefined {
  try {
    return execFileSync('/bin/sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim() || undefined;
  } catch {
    return undefined;
  }
}

/** `gmn` is on PATH, and the completion script of the shell in a file. */
export function shellPlace(t: TestContext, shell: string, options: GmnOptions = {}) {
  const found = place(t, options);
  const bin = join(found.root, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'gmn'), `#!/bin/sh\nexec ${GMN_LINE} "$@"\n`);
  chmodSync(join(bin, 'gmn'), 0o755);
  const env = { ...found.env, PATH: `${bin}:${found.env.PATH}`, LC_ALL: 'C.UTF-8', TERM: 'xterm' };
  const script = join(found.root, `gmn.${shell}`);
  writeFileSync(script, execFileSync(join(bin, 'gmn'), ['completion', shell], { env, cwd: found.cwd }));
  return { ...found, env, script };
}

const SETUP: Readonly<Record<string, (script: string) => string>> = {
  bash: (script) => `
    PS1= ; bind 'set enable-bracketed-paste off' ; bind 'set completion-query-items 0' ; bind 'set page-completions off'
    bind 'set bell-style none'
    bind -x '"\\C-xp": printf "\\nLINE<%s>\\n" "$READLINE_LINE"; READLINE_LINE= READLINE_POINT=0'
    source '${script}'; printf 'REA%s\\n' DY
  `,
  zsh: (script) => `
    PS1= ; unsetopt prompt_cr beep ; unset zle_bracketed_paste
    autoload -Uz compinit ; compinit -D -u ; source '${script}'
    show() { zle -I ; print -r -- "LINE<$BUFFER>" ; BUFFER= }
    zle -N show ; bindkey '^Xp' show ; printf 'REA%s\\n' DY
  `,
};

/** Types these lines into a shell on a pseudo-terminal and returns what each becomes; `\t` is the Tab key. */
export async function typeInShell(
  t: TestContext,
  shell: 'bash' | 'zsh',
  { cwd, env, script }: ReturnType<typeof shellPlace>,
  lines: readonly string[],
): Promise<readonly string[]> {
  const args = shell === 'bash' ? ['--noprofile', '--norc', '-i'] : ['-f', '-i'];
  const pty = spawn(shell, args, { cwd, env, cols: 200, rows: 200 });
  t.onTestFinished(() => pty.kill('SIGKILL'));
  let output = '';
  let wake: () => void = () => {};
  pty.onData((data) => {
    output += data;
    wake();
  });
  const until = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const match = pattern.exec(output);
      if (match !== null) {
        output = output.slice(match.index + match[0].length);
        return match;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  const setup = join(env.HOME, 'setup');
  writeFileSync(setup, SETUP[shell]?.(script) ?? '');
  pty.write(`. '${setup}'\r`);
  await until(/READY/);
  const results: string[] = [];
  for (const line of lines) {
    pty.write(`${line}\x18p`);
    const [, result = ''] = await until(/LINE<([^\r\n]*)>\r?\n/);
    results.push(result);
  }
  return results;
}
