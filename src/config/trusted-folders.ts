import { dirname, isAbsolute, normalize } from 'node:path';
import { AppError } from '../core/error.ts';
import { isObject } from '../core/json.ts';
import { realPath } from '../platform/files/path.ts';
import { readStateFile } from '../platform/files/small-file.ts';
import { parseJsonc } from './jsonc.ts';
import type { TrustRule } from './trust-rule.ts';

const LEVELS = ['TRUST_FOLDER', 'TRUST_PARENT', 'DO_NOT_TRUST'];

/**
 * What the official CLI was told about folders; no file, no rules. Where two entries are about the same folder, the
 * refusal comes last. Throws AppError `config` if the file cannot be read or holds something else.
 */
export function readTrustedFolders(file: string): readonly TrustRule[] {
  const text = readStateFile(file);
  if (text === undefined || text.trim() === '') return [];
  const entries = parseJsonc(text.replace(/^\uFEFF/, ''), file);
  if (!isObject(entries)) throw broken(file, 'it must be an object');
  const rules = Object.entries(entries).flatMap(([path, level]) => {
    if (typeof level !== 'string' || !LEVELS.includes(level)) {
      throw broken(file, `${JSON.stringify(path)} must be one of ${LEVELS.join(', ')}`);
    }
    // A relative path would be about whatever folder one stands in.
    if (!isAbsolute(path)) return [];
    const folder = normalize(level === 'TRUST_PARENT' ? dirname(path) : path);
    return [{ path: realPath(folder) ?? folder, isTrusted: level !== 'DO_NOT_TRUST', file }];
  });
  return [...rules.filter(({ isTrusted }) => isTrusted), ...rules.filter(({ isTrusted }) => !isTrusted)];
}

function broken(file: string, why: string): AppError {
  return new AppError('config', `${file}: ${why}`, { hint: 'Mend or remove that file.' });
}
