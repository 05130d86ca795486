import type { Redaction } from '../../agent/agent.ts';
import { readOwnSecrets } from '../../auth/own-secrets.ts';
import { listEnvFiles } from '../../config/environment.ts';
import { parseEnvFile } from '../../config/variables.ts';
import type { App } from '../../core/app.ts';
import { MARK, redactIn } from '../../core/text/secrets.ts';
import { readFileState } from '../../platform/files/read.ts';
import { nextTurn } from '../../platform/runtime/clock.ts';

/** Reads the credentials of gmn and the official CLI again each time, since a token may be refreshed meanwhile. */
export function createRedaction(app: Pick<App, 'homes' | 'settings'>): Redaction {
  let hasWithheld = false;
  return {
    async redact(value) {
      const redacted = await redactIn(value, await readSecrets(app), nextTurn);
      hasWithheld ||= redacted !== value;
      return redacted;
    },
    writesMark: (args) => hasWithheld && JSON.stringify(args).includes(MARK),
  };
}

/** The current credentials of gmn and the official CLI. Never throws. */
export async function readSecrets(app: Pick<App, 'homes' | 'settings'>): Promise<ReadonlySet<string>> {
  const files = await Promise.all(listEnvFiles(app.homes()).map((path) => readFileState(path)));
  // Each file by itself: a value in one may be overridden by another or by the environment.
  const envs = files.flatMap((file) => (file.kind === 'text' ? [parseEnvFile(file.text).variables] : []));
  return readOwnSecrets(
    app,
    envs.map((variables) => Object.fromEntries(variables)),
  );
}
