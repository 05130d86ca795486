import type { Redaction } from '../agent/agent.ts';
import { readOwnSecrets } from '../auth/own-secrets.ts';
import type { App } from '../core/app.ts';
import { concealedIn, MARK } from '../core/text/secrets.ts';

/** Reads the credentials of gmn and the official CLI anew each time, since a token may be refreshed meanwhile. */
export function createRedaction(app: Pick<App, 'homes' | 'settings'>): Redaction {
  let hasWithheld = false;
  return {
    async conceal(value) {
      const told = concealedIn(value, await readOwnSecrets(app));
      hasWithheld ||= told !== value;
      return told;
    },
    writesMark: (args) => hasWithheld && JSON.stringify(args).includes(MARK),
  };
}
