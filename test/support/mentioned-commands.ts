import { listArgumentNames } from '../../src/cli/completion/plan.ts';
import { BUILT_IN_FLAGS } from '../../src/cli/help.ts';
import type { Command } from '../../src/cli/table/command.ts';
import { ROOT } from '../../src/cli/table/root.ts';

const HOLE = '‹hole›';

/** The strings and templates of a TypeScript file, without comments, with a hole for each substitution. */
export function textsIn(source: string): readonly string[] {
  let bare = source.replace(/^\s*(?:\/\*\*?[\s\S]*?\*\/|\/\/.*)$/gm, '');
  for (let before = ''; before !== bare; ) {
    before = bare;
    bare = bare.replace(/\$\{[^{}]*\}/g, HOLE);
  }
  return [...bare.matchAll(/'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g)].map(([, ...texts]) =>
    texts.join('').replace(/\\(.)/g, (_, letter) => (letter === 'n' ? '\n' : letter)),
  );
}

/**
 * The command lines of gmn in a text, as words, without the prose after them. Words after a colon count even if there is no such command.
 */
export function mentionedCommands(text: string): readonly (readonly string[])[] {
  const found = [...text.matchAll(/(?<=^|[^\w/.~-])gmn +(?=[^\s.,;:)])([^\n|&`()\\⇥]*)(?!\S*⇥)/gm)];
  return found.flatMap(({ 1: rest = '', index }) => {
    const words = wordsOf(rest);
    const [first = ''] = words;
    const isCommand = (ROOT.subcommands ?? []).some(({ name }) => name === first);
    if (isCommand || /^["-]/.test(first)) return commandLine(words);
    return /^(?!(?:is|was|has|had|can|cannot|does|uses|will|never|reads|asks|keeps|makes|ignores|sends)$)[a-z-]+$/.test(
      first,
    ) && /[a-z]: $/.test(text.slice(0, index))
      ? [[first]]
      : [];
  });
}

/** Splits like a shell, as far as such texts need it. */
function wordsOf(text: string): readonly string[] {
  return [...text.matchAll(/"[^"]*"|'[^']*'|<[^>]*>|\S+/g)].map(([word]) => word);
}

/**
 * The words up to the first that is not part of a command line, with a value for every required argument. Empty if the command is only
 * known at run time, or is a group.
 */
function commandLine(words: readonly string[]): readonly (readonly string[])[] {
  const argv: string[] = [];
  let command: Command = ROOT;
  let path = ROOT.name;
  let given = 0;
  let isValue = false;
  for (const raw of words) {
    const word = raw.replace(/[.,;:]+$/, '');
    const child: Command | undefined = given === 0 ? command.subcommands?.find(({ name }) => name === word) : undefined;
    if (word === '--') {
      argv.push(word);
      break;
    }
    if (isValue) isValue = false;
    else if (/^[<>]$|^#/.test(word) || (/^[<‹]/.test(word) && command.args === undefined)) break;
    else if (child !== undefined) {
      command = child;
      path = `${path} ${child.name}`;
    } else if (/^--?[a-zA-Z]/.test(word)) {
      const name = word.replace(/=.*$/, '');
      const flags = [...command.flags, ...BUILT_IN_FLAGS, ...ROOT.flags];
      const flag = flags.find(({ short, long, aliases = [] }) =>
        [`-${short}`, ...[long, ...aliases].map((other) => `--${other}`)].includes(name),
      );
      isValue = flag?.value !== undefined && !flag.isOptional && flag.preset === undefined && !word.includes('=');
    } else if (/^["'<‹…$@]|=|^[\d-]/.test(word) || command.name === 'help' || command.name === 'completion') given += 1;
    else {
      // After a group comes one of its commands, or nothing.
      if (command.run === undefined && /^[a-z-]+$/.test(word)) return [[...argv, word]];
      break;
    }
    argv.push(/^["'<‹…$]/.test(word) ? 'x' : word);
    if (word !== raw) break;
  }
  if (isValue) argv.push('1');
  if (command.run === undefined && command.subcommands !== undefined && !argv.includes('--help')) return [];
  const required = listArgumentNames((command.args ?? '').replace(/\[[^\]]*\]/g, '')).length;
  return [[...argv, ...Array<string>(Math.max(0, required - given)).fill('x')]];
}
