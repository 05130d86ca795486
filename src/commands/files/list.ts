import { type AccountOptions, openAccount } from '../../app/account.ts';
import { formatTable, printReport } from '../../app/report.ts';
import type { App } from '../../core/app.ts';
import type { RemoteFile } from '../../core/files.ts';
import type { JsonObject } from '../../core/json.ts';
import { formatDuration, formatSize } from '../../core/text/format.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { noFilesError } from '../../engine/model/uploads.ts';

const HEADERS = ['NAME', 'FILE', 'TYPE', 'SIZE', 'STATE', 'EXPIRES'];

/** Lists the files that the service keeps for this account. Throws AppError `auth` if the backend keeps none. */
export async function run(options: AccountOptions, app: App): Promise<number> {
  const { opened, takeNotices } = await openAccount(options, app);
  if (opened.files === undefined) throw noFilesError(opened.name);
  const files = await (await opened.files()).list(app.signal);
  const none = files.length === 0 && !options.json ? ['the service keeps no files for this account'] : [];
  const rows = files.map((file) => formatFileRow(file, app.clock.now()));
  const text = rows.length === 0 ? '' : formatTable([HEADERS, ...rows]);
  const json = { files: files.map(toFileFields) };
  return printReport({ text, json, notices: [...takeNotices(), ...none] }, options, app);
}

function formatFileRow(
  { name, displayName = '', mimeType, bytes, state, expiresAt }: RemoteFile,
  now: number,
): string[] {
  const left = expiresAt === undefined ? '' : expiresAt <= now ? 'now' : `in ${formatDuration(expiresAt - now)}`;
  const size = bytes === undefined ? '' : formatSize(bytes);
  return [name.replace('files/', ''), displayName, mimeType, size, state, left].map(sanitize);
}

function toFileFields({ createdAt, expiresAt, ...file }: RemoteFile): JsonObject {
  const formatTime = (ms: number | undefined): string | undefined =>
    ms === undefined ? ms : new Date(ms).toISOString();
  return { ...file, createdAt: formatTime(createdAt), expiresAt: formatTime(expiresAt) };
}
