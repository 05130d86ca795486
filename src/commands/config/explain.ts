import { findAccount } from '../../app/account.ts';
import { formatTable, printReport, type WordOptions } from '../../app/report.ts';
import { explainKey, parseKey } from '../../config/explanation.ts';
import type { App } from '../../core/app.ts';
import { readCachedDefault } from '../../models/choice.ts';
import { readAllLayers, requireKey } from './layers.ts';

/**
 * Prints the value of a key and every layer that sets it, with the winner and what a folder sets in vain marked, and secrets redacted. Throws AppError
 * `usage`.
 */
export async function run(options: WordOptions, app: App): Promise<number> {
  const path = parseKey(requireKey(options, 'explain'));
  const { layers, notices } = await readAllLayers(app);
  const { key, value, layers: found, refused, isCombined, isRead } = explainKey(path, layers);
  const marks = [...found.map((_, index) => (index === 0 ? '→' : isCombined ? '+' : ' ')), ...refused.map(() => '✗')];
  const rows = [...found, ...refused].map(({ layer, source, value: stated }, index) => [
    marks[index] ?? '',
    layer,
    source,
    JSON.stringify(stated),
  ]);
  const headline = value === undefined ? `${key} is not set` : `${key} = ${JSON.stringify(value)}`;
  const unread = isRead ? '' : 'gmn does not read this key; the official CLI may.\n';
  const answering = key === 'model.name' && found[0]?.layer === 'built-in' ? await findAnsweringModel(app) : undefined;
  const substitute = answering === undefined ? '' : `${answering} answers: ${value} is gone for this account.\n`;
  const reasons = refused.map(({ why }) => `A folder cannot set this: ${why}.\n`).join('');
  const text = `${headline}\n${unread}${substitute}${rows.length > 0 ? '\n' : ''}${formatTable(rows)}${reasons}`;
  const json = {
    key,
    value,
    isCombined,
    isRead,
    answering,
    layers: found.map((layer, index) => ({ ...layer, wins: index === 0 })),
    refused: refused.length === 0 ? undefined : refused.map((layer) => ({ ...layer })),
  };
  return printReport({ text, json, notices, isVerbatim: true }, options, app);
}

/** The fallback model that answers in place of the default, if an earlier run found that gone for this account. */
async function findAnsweringModel(app: App): Promise<string | undefined> {
  // What is wrong with a credential is for `gmn auth status` to say.
  const account = await findAccount({}, app).catch(() => undefined);
  return account && readCachedDefault(app, account);
}
