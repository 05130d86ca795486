import { dirname, isAbsolute, join, normalize } from 'node:path';
import type { App, Homes } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import { isObject } from '../core/json.ts';
import { contains } from '../core/text/path.ts';
import { realPath } from '../platform/files/path.ts';
import { readSmallFile } from '../platform/files/small-file.ts';
import { parseJsonc } from './jsonc.ts';

export interface TrustDecision {
  readonly isTrusted: boolean;
  readonly why: string;
  /** Nobody has answered yet, so that a person can be asked. */
  readonly isOpen?: true;
  /** The user has said no, and need not hear of it again. */
  readonly isRefused?: true;
}

interface TrustContext extends Pick<App, 'env' | 'cwd'> {
  readonly homes: Homes;
  /** `security.folderTrust.enabled` of the user and the machine; false means that every folder is trusted. */
  readonly isEnabled: boolean;
  readonly records: TrustRecords;
}

export function trustedFoldersPath(env: Env, homes: Homes): string {
  return env.GEMINI_CLI_TRUSTED_FOLDERS_PATH || join(homes.gemini, 'trustedFolders.json');
}

export function readTrustRecords(homes: Homes): TrustRecords {
  return readTrustFile(trustFilePath(homes.gmn));
}

/** By the environment, the setting, then the rule for the nearest folder, gmn's before the official CLI's. */
export function decideTrust({ env, cwd, homes, isEnabled, records }: TrustContext): TrustDecision {
  if (env.GEMINI_RESTRICTED_MODE === 'true') return { isTrusted: false, why: 'GEMINI_RESTRICTED_MODE is true' };
  const override = env.GEMINI_CLI_TRUST_WORKSPACE;
  if (override === 'false' || override === 'true') {
    return { isTrusted: override === 'true', why: `GEMINI_CLI_TRUST_WORKSPACE is ${override}` };
  }
  if (!isEnabled) return { isTrusted: true, why: 'security.folderTrust.enabled is false' };
  const folder = realPath(cwd);
  if (folder === undefined) return { isTrusted: false, why: 'the folder is gone' };
  const ownFile = trustFilePath(homes.gmn);
  // The paths in gmn's file are already resolved: resolving them again would follow a link created since.
  const own = [...records].map(([path, { isRefused }]) => ({ path, isTrusted: !isRefused, file: ownFile }));
  const rule = findNearestRule([...readTrustedFolders(trustedFoldersPath(env, homes)), ...own], folder);
  if (rule === undefined) return { isTrusted: false, why: 'this folder is not trusted', isOpen: true };
  const why = `${rule.file} ${rule.isTrusted ? 'trusts' : 'refuses'} ${rule.path}`;
  return rule.isTrusted ? { isTrusted: true, why } : { isTrusted: false, why, isRefused: true };
}

interface TrustRule {
  /** Absolute; without symbolic links as far as it exists. */
  readonly path: string;
  readonly isTrusted: boolean;
  readonly file: string;
}

/** Of two rules for the same folder, the later one wins. Undefined if no rule applies to `path`. */
export function findNearestRule(rules: readonly TrustRule[], path: string): TrustRule | undefined {
  let nearest: TrustRule | undefined;
  for (const rule of rules) {
    if (!contains(rule.path, path)) continue;
    if (nearest === undefined || contains(nearest.path, rule.path)) nearest = rule;
  }
  return nearest;
}

const LEVELS = ['TRUST_FOLDER', 'TRUST_PARENT', 'DO_NOT_TRUST'];

/** Distrust comes last, so that it wins. Throws AppError `config` if the file is not a valid list. */
export function readTrustedFolders(file: string): readonly TrustRule[] {
  const text = readSmallFile(file);
  if (text === undefined || text.trim() === '') return [];
  const entries = parseJsonc(text.replace(/^\uFEFF/, ''), file);
  if (!isObject(entries)) throw trustedFoldersError(file, 'it must be an object');
  const rules = Object.entries(entries).flatMap(([path, level]) => {
    if (typeof level !== 'string' || !LEVELS.includes(level)) {
      throw trustedFoldersError(file, `${JSON.stringify(path)} must be one of ${LEVELS.join(', ')}`);
    }
    // A relative path would depend on the current folder.
    if (!isAbsolute(path)) return [];
    const folder = normalize(level === 'TRUST_PARENT' ? dirname(path) : path);
    return [{ path: realPath(folder) ?? folder, isTrusted: level !== 'DO_NOT_TRUST', file }];
  });
  return [...rules.filter(({ isTrusted }) => isTrusted), ...rules.filter(({ isTrusted }) => !isTrusted)];
}

function trustedFoldersError(file: string, why: string): AppError {
  return new AppError('config', `${file}: ${why}`, { hint: 'Fix or remove that file.' });
}

/** What a folder can bring that runs programs or instructs models, as the trust file calls it. */
export const ITEM_KINDS = ['servers', 'hooks', 'skills', 'agents', 'commands'] as const;

export type ItemKind = (typeof ITEM_KINDS)[number];

/** The hash of each thing that was shown, by its name. */
type ApprovedHashes = Readonly<Record<string, string>>;

export interface TrustRecord {
  readonly time: string;
  /** A kind is absent in what a gmn wrote that did not know it. */
  readonly approved: Readonly<Partial<Record<ItemKind, ApprovedHashes>>>;
  readonly isRefused?: true;
}

/** A thing that a folder brings, as `gmn trust` remembers it. */
export interface TrustItem {
  readonly kind: ItemKind;
  readonly name: string;
  readonly hash: string;
}

/** Whether `gmn trust` has shown this very thing. */
export function isApprovedItem(record: TrustRecord | undefined, { kind, name, hash }: TrustItem): boolean {
  const hashes = record?.approved[kind] ?? {};
  // A hook without a name is called by its place, which may change; its hash covers all there is of it.
  if (kind === 'hooks') return Object.values(hashes).includes(hash);
  return Object.hasOwn(hashes, name) && hashes[name] === hash;
}

/** Whether `gmn trust` has shown something of this name, whatever was in it. */
export function isKnownItem(
  record: TrustRecord | undefined,
  { kind, name }: Pick<TrustItem, 'kind' | 'name'>,
): boolean {
  return Object.hasOwn(record?.approved[kind] ?? {}, name);
}

export type TrustRecords = ReadonlyMap<string, TrustRecord>;

export function trustFilePath(gmnHome: string): string {
  return join(gmnHome, 'trust.json');
}

export function readTrustFile(file: string): TrustRecords {
  const text = readSmallFile(file);
  return text === undefined ? new Map() : parseTrustRecords(text, file);
}

function parseTrustRecords(text: string, file: string): TrustRecords {
  const value = parseTrustText(text, file);
  if (!isObject(value) || value.version !== 1 || !isObject(value.folders))
    throw trustFileError(file, 'it is not a trust file');
  const { folders, refused = {} } = value;
  if (!isObject(refused)) throw trustFileError(file, 'it is not a trust file');
  return new Map([
    ...Object.entries(folders).map(([path, record]) => [path, parseTrustRecord(record, path, file)] as const),
    ...Object.entries(refused).map(([path, record]) => [path, parseRefusal(record, path, file)] as const),
  ]);
}

function parseRefusal(value: unknown, path: string, file: string): TrustRecord {
  const { time } = parseTrustRecord(isObject(value) ? { ...value, servers: {} } : value, path, file);
  return { time, approved: {}, isRefused: true };
}

function parseTrustText(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw trustFileError(file, 'it is not JSON', cause);
  }
}

function parseTrustRecord(value: unknown, path: string, file: string): TrustRecord {
  const servers = isObject(value) ? value.servers : undefined;
  const isPath = isAbsolute(path) && normalize(path) === path;
  if (!isPath || !isObject(value) || typeof value.time !== 'string' || !isObject(servers)) {
    throw trustFileError(file, `the entry for ${JSON.stringify(path)} is not valid`);
  }
  const approved = ITEM_KINDS.flatMap((kind) => {
    const hashes = value[kind];
    return isObject(hashes) ? [[kind, keepStrings(hashes)] as const] : [];
  });
  return { time: value.time, approved: Object.fromEntries(approved) };
}

function keepStrings(values: Readonly<Record<string, unknown>>): ApprovedHashes {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

function trustFileError(file: string, why: string, cause?: unknown): AppError {
  return new AppError('config', `${file}: ${why}`, {
    cause,
    hint: 'Remove that file; then run gmn trust again in the folders you trust.',
  });
}
