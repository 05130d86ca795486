import type { Withholding } from '../agent/agent.ts';
import { ownSecrets } from '../auth/own-secrets.ts';
import type { App } from '../core/app.ts';
import { concealedIn, MARK } from '../core/text/secrets.ts';

/** Reads the credentials of gmn and the official CLI anew each time, since a token may be refreshed meanwhile. */
export function ownWithholding(app: Pick<App, 'homes' | 'settings'>): Withholding {
  let hasWithheld = false;
  return {
    async conceal(value) {
      const told = concealedIn(value, await ownSecrets(app));
      hasWithheld ||= told !== value;
      return told;
    },
    writesMark: (args) => hasWithheld && JSON.stringify(args).includes(MARK),
  };
}
