import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { Extras } from '../../input/prompt-input.ts';
import { readClipboard } from '../../platform/process/clipboard-reader.ts';

/** The flags for what goes along besides `-f`. */
export interface ExtraOptions {
  readonly attach?: readonly string[];
  readonly mimeType?: string;
  readonly paste?: boolean;
  readonly file?: readonly string[];
}

const MEDIA_TYPE = /^[a-z]+\/[a-z\d][a-z\d.+-]*$/i;

/** What goes along besides files. Throws AppError `usage` if a flag is in vain. */
export function promptExtras({ attach = [], mimeType, paste, file = [] }: ExtraOptions, { env, cwd }: App): Extras {
  if (mimeType !== undefined) {
    if (!MEDIA_TYPE.test(mimeType)) {
      throw new AppError('usage', `--mime-type: "${mimeType}" is no media type`, {
        hint: 'Example: --mime-type text/csv',
      });
    }
    if (attach.length === 0 && !file.includes('-')) {
      throw new AppError('usage', '--mime-type needs -a or -f -', {
        hint: 'Example: … | gmn -a - --mime-type text/csv "…"',
      });
    }
  }
  return {
    attach,
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(paste ? { clipboard: (signal: AbortSignal) => readClipboard({ env, cwd }, signal) } : {}),
  };
}
