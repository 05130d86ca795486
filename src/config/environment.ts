import { join } from 'node:path';
import type { Homes } from '../core/app.ts';
import type { Env } from '../core/io.ts';
import { joinFirst } from '../core/text/format.ts';
import { readSmallFile } from '../platform/files/small-file.ts';

const CERTIFICATES_CHECKED =
  'NODE_TLS_REJECT_UNAUTHORIZED=0 is ignored: certificates are always checked. To trust more of them, use NODE_EXTRA_CA_CERTS';

/** Later files override earlier ones. */
export function listEnvFiles({ gemini, gmn }: Homes): readonly string[] {
  return [join(gemini, '.env'), join(gmn, '.env')];
}

/** Endpoints, proxies and the like are not taken from files; a notice says so. Throws AppError `config`. */
export async function readEnvironment(real: Env, homes: Homes) {
  let added: Readonly<Record<string, string>> = {};
  const notices: string[] = real.NODE_TLS_REJECT_UNAUTHORIZED === '0' ? [CERTIFICATES_CHECKED] : [];
  for (const file of listEnvFiles(homes)) {
    const text = readSmallFile(file);
    if (text === undefined) continue;
    const { mayComeFromFile, parseEnvFile } = await import('./variables.ts');
    const { variables, faultyLines } = parseEnvFile(text);
    const isNew = (name: string): boolean => real[name] === undefined;
    const refused = [...variables.keys()].filter((name) => isNew(name) && !mayComeFromFile(name));
    if (refused.length > 0) {
      notices.push(`${file}: ${refused.join(', ')} ignored in a file; set it in the environment instead`);
    }
    if (faultyLines.length > 0) notices.push(`${file}: not NAME=value, ignored: ${formatLineNumbers(faultyLines)}`);
    added = { ...added, ...Object.fromEntries([...variables].filter(([name]) => mayComeFromFile(name))) };
  }
  return { env: Object.keys(added).length === 0 ? real : { ...added, ...real }, notices };
}

function formatLineNumbers(numbers: readonly number[]): string {
  return `line${numbers.length > 1 ? 's' : ''} ${joinFirst(numbers, 3)}`;
}
