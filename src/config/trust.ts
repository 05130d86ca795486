import type { App, Homes } from '../core/app.ts';
import type { Env } from '../core/io.ts';
import { realPath } from '../platform/files/path.ts';
import { readTrustFile, type TrustRecords, trustFilePath } from './trust-file.ts';
import { nearestRule } from './trust-rule.ts';
import { readTrustedFolders } from './trusted-folders.ts';

/** Whether a folder's own settings count. */
export interface Verdict {
  readonly isTrusted: boolean;
  /** What decided it, in a few words. */
  readonly why: string;
}

export interface TrustQuestion extends Pick<App, 'env' | 'cwd'> {
  readonly homes: Homes;
  /** `security.folderTrust.enabled` of the user and the machine; false means that every folder is trusted. */
  readonly isEnabled: boolean;
  readonly records: TrustRecords;
}

/** The official CLI's list of folders. */
export function trustedFoldersPath(env: Env, homes: Homes): string {
  return env.GEMINI_CLI_TRUSTED_FOLDERS_PATH || `${homes.gemini}/trustedFolders.json`;
}

/** gmn's own list. Throws AppError `config` if it is broken. */
export function trustRecords(homes: Homes): TrustRecords {
  return readTrustFile(trustFilePath(homes.gmn));
}

/**
 * Decides by the environment, then the setting, then the rule for the nearest folder, gmn's own before the official
 * CLI's. A folder nobody spoke about is not trusted. Throws AppError `config` if the official list is broken.
 */
export function judgeFolder({ env, cwd, homes, isEnabled, records }: TrustQuestion): Verdict {
  if (env.GEMINI_RESTRICTED_MODE === 'true') return { isTrusted: false, why: 'GEMINI_RESTRICTED_MODE is true' };
  const override = env.GEMINI_CLI_TRUST_WORKSPACE;
  if (override === 'false' || override === 'true') {
    return { isTrusted: override === 'true', why: `GEMINI_CLI_TRUST_WORKSPACE is ${override}` };
  }
  if (!isEnabled) return { isTrusted: true, why: 'security.folderTrust.enabled is false' };
  const folder = realPath(cwd);
  if (folder === undefined) return { isTrusted: false, why: 'the folder is gone' };
  const ownFile = trustFilePath(homes.gmn);
  // The paths in gmn's file are real ones: resolving them again would follow a link put there since.
  const own = [...records.keys()].map((path) => ({ path, isTrusted: true, file: ownFile }));
  const rule = nearestRule([...readTrustedFolders(trustedFoldersPath(env, homes)), ...own], folder);
  if (rule === undefined) return { isTrusted: false, why: 'this folder is not trusted' };
  return { isTrusted: rule.isTrusted, why: `${rule.file} ${rule.isTrusted ? 'trusts' : 'refuses'} ${rule.path}` };
}
