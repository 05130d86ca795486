import { resolve } from 'node:path';
import { formatTable, type PrintOptions, printReport } from '../app/report.ts';
import { askAboutFolders } from '../app/trust.ts';
import { changeTrustFile, formatApproved, rememberTrust, requireFolder, reviewFolder } from '../config/folder-trust.ts';
import { ITEM_KINDS, type ItemKind, readTrustFile, type TrustRecord, trustFilePath } from '../config/trust.ts';
import type { App } from '../core/app.ts';
import { AppError, FAULTS } from '../core/error.ts';
import { sanitize } from '../core/text/terminal.ts';
import { realPath } from '../platform/files/path.ts';
import { isInteractive } from '../platform/terminal/io.ts';

interface TrustOptions extends PrintOptions {
  readonly args: readonly string[];
  readonly list?: boolean;
  readonly remove?: boolean;
  readonly deny?: boolean;
  readonly yes?: boolean;
}

/**
 * Trusts a folder, by default this one: shows the MCP servers, hooks, skills, agents and commands that it brings, asks on a
 * terminal, and approves them as they are now, except those too long to be shown in full. Starts none. Throws AppError: `usage` if there is no such folder,
 * `config` if its settings or the trust file are invalid.
 */
export async function run(options: TrustOptions, app: App): Promise<number> {
  const { args, list, remove, deny } = options;
  if (args.length > 1 || (list && args.length > 0)) {
    throw new AppError('usage', 'trust takes one folder, --list none', { hint: 'Example: gmn trust ./project' });
  }
  if (list) return listTrustedFolders(options, app);
  const wanted = resolve(app.cwd, args[0] ?? '.');
  if (remove) return forgetFolder(wanted, options, app);
  return deny ? refuseFolder(wanted, options, app) : trustFolder(wanted, options, app);
}

async function refuseFolder(wanted: string, options: TrustOptions, app: App): Promise<number> {
  const folder = requireFolder(wanted);
  await rememberTrust([{ folder, items: 'refused' }], app);
  const text = `Not trusted: ${sanitize(folder)}\nNothing of it is used, and no notice says so. To undo this: gmn trust --remove\n`;
  return printReport({ text, json: { folder, refused: true, file: trustFilePath(app.homes().gmn) } }, options, app);
}

async function trustFolder(wanted: string, options: TrustOptions, app: App): Promise<number> {
  const review = await reviewFolder(wanted, app);
  const { folder, items, instructions, removed, notices } = review;
  const isAsked = !options.yes && !options.json && isInteractive() && app.io.out.isTerminal;
  const answer = isAsked ? await askAboutFolders([review], app) : undefined;
  if (answer?.kind === 'no') return refuseFolder(wanted, options, app);
  if (answer?.kind === 'stop') {
    await app.io.err.write('Nothing was changed.\n');
    return answer.isInterrupt ? FAULTS.interrupted.exitCode : 0;
  }
  await rememberTrust([review], app);
  const text = `Trusted: ${sanitize(folder)}\n${formatApproved(review)}\nTo undo this: gmn trust --remove\n`;
  const describe = (wanted: ItemKind) =>
    items.filter(({ item }) => item.kind === wanted).map(({ words: _, item: __, ...shown }) => shown);
  const brought = Object.fromEntries(ITEM_KINDS.map((kind) => [kind, describe(kind)]));
  const json = { folder, ...brought, instructions, removed, file: trustFilePath(app.homes().gmn) };
  return printReport({ text, json, notices }, options, app);
}

async function forgetFolder(wanted: string, options: TrustOptions, app: App): Promise<number> {
  const file = trustFilePath(app.homes().gmn);
  // The folder may have been removed, or be a link now.
  const folder = [realPath(wanted), wanted].find((path) => path !== undefined && readTrustFile(file).has(path));
  if (folder === undefined) {
    throw new AppError('usage', `gmn knows no answer for ${wanted}`, { hint: 'To see all answers: gmn trust --list' });
  }
  const isRefused = readTrustFile(file).get(folder)?.isRefused;
  await changeTrustFile(file, app, (records) => new Map([...records].filter(([path]) => path !== folder)));
  const text = `${isRefused ? 'No longer refused' : 'No longer trusted'}: ${sanitize(folder)}\n`;
  return printReport({ text, json: { folder, removed: true, file } }, options, app);
}

async function listTrustedFolders(options: TrustOptions, app: App): Promise<number> {
  const file = trustFilePath(app.homes().gmn);
  const all = [...readTrustFile(file)].map(([folder, record]) => ({ folder, ...record }));
  const listNames = (approved: TrustRecord['approved']) =>
    ITEM_KINDS.map((kind) => [kind, Object.keys(approved[kind] ?? {})] as const);
  const rows = all.map(({ folder, time, approved, isRefused }) => [
    sanitize(folder),
    time.slice(0, 10),
    isRefused
      ? 'not trusted'
      : sanitize(
          listNames(approved)
            .flatMap(([, names]) => names)
            .join(', '),
        ),
  ]);
  const folders = all
    .filter(({ isRefused }) => !isRefused)
    .map(({ folder, time, approved }) => ({ folder, time, ...Object.fromEntries(listNames(approved)) }));
  const refused = all.filter(({ isRefused }) => isRefused).map(({ folder, time }) => ({ folder, time }));
  const text = rows.length === 0 ? 'No folder was trusted by gmn.\n' : formatTable(rows);
  return printReport({ text, json: { folders, refused, file } }, options, app);
}
