import { join } from 'node:path';
import { printReport, type WordOptions } from '../../app/report.ts';
import { BUILT_IN_TEMPLATES, templateSkeleton } from '../../config/builtin-templates.ts';
import { readTemplate } from '../../config/templates.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { inspectPath } from '../../platform/files/read.ts';
import { tryCreateExclusive } from '../../platform/files/write-sync.ts';
import { editInEditor } from '../../platform/process/editor.ts';
import { isInteractive } from '../../platform/terminal/io.ts';
import { TTY_PATH } from '../../platform/terminal/tty.ts';

/**
 * Opens the editor on a skeleton, or on the built-in template of that name, and saves the result as one of the user's;
 * without a terminal saves the skeleton itself. Throws AppError: `usage` for a name that is taken or cannot be one,
 * `interrupted` if nothing was changed.
 */
export async function run(options: WordOptions, app: App): Promise<number> {
  const { name, file } = await requireFreeName(options.args, app);
  const begun = Object.hasOwn(BUILT_IN_TEMPLATES, name) ? BUILT_IN_TEMPLATES[name] : undefined;
  const text = begun ?? templateSkeleton(name);
  const edited = isInteractive() ? await editTemplate(text, `${name}.md`, app) : text;
  await readTemplate({ name, file, kind: 'markdown', text: edited });
  const created = tryCreateExclusive(file, edited);
  if (created === 'exists') throw takenError(name, file);
  if (created === 'failed') {
    throw new AppError('config', `cannot write ${file}`, { hint: 'Check the free space and the permissions there.' });
  }
  const saved = `Saved ${file}\nTo use it: gmn --template ${name}\n`;
  return printReport({ text: saved, json: { name, file } }, options, app);
}

/** One or more words with `:` or `/` between them, each a safe file name. */
const NAME = /^[\p{L}\p{N}_][\p{L}\p{N}_.-]*(?:[:/][\p{L}\p{N}_][\p{L}\p{N}_.-]*){0,3}$/u;

async function requireFreeName([typed, ...more]: readonly string[], app: App) {
  // The file name is accepted, too.
  const wanted = typed?.replace(/\.md$/, '');
  if (wanted === undefined || more.length > 0 || !NAME.test(wanted)) {
    throw new AppError('usage', 'templates new takes one name: letters, digits, - and _; git:log is in a group', {
      hint: 'Example: gmn templates new release-notes',
    });
  }
  const parts = wanted.split(/[:/]/);
  const name = parts.join(':');
  const file = `${join(app.homes().gmn, 'templates', ...parts)}.md`;
  if ((await inspectPath(file)) !== undefined) throw takenError(name, file);
  return { name, file };
}

function takenError(name: string, file: string): AppError {
  return new AppError('usage', `you have a template "${sanitize(name)}" already: ${file}`, {
    hint: 'Edit that file, or choose another name.',
  });
}

async function editTemplate(text: string, name: string, { env, signal }: App): Promise<string> {
  const edited = await editInEditor({ text, name, env, terminal: TTY_PATH }, signal);
  if (edited === undefined) {
    throw new AppError('usage', 'the editor could not be started, or failed', { hint: 'Set VISUAL or EDITOR.' });
  }
  if (edited === text) throw new AppError('interrupted', 'The template was left as it was: nothing is saved.');
  return edited;
}
