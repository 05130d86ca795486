import { persist } from '../api/json-call.ts';
import type { Inquiries } from '../api/queries.ts';
import type { App } from '../core/app.ts';
import type { OpenedBackend } from './opened-backend.ts';

type Asked = Pick<OpenedBackend, 'inquiries' | 'retryBaseMs'> & { readonly retries?: number | undefined };

/** The inquiries of a backend, each repeated as its failures advise. */
export async function patientInquiries({ inquiries: open, retryBaseMs, retries }: Asked, app: App): Promise<Inquiries> {
  const inquiries = await open();
  const patience = { clock: app.clock, random: app.random, trace: app.trace, retryBaseMs, retries };
  return {
    countTokens: (request, signal) => persist(() => inquiries.countTokens(request, signal), patience, signal),
    listModels: (signal) => persist(() => inquiries.listModels(signal), patience, signal),
    embed: (request, signal) => persist(() => inquiries.embed(request, signal), patience, signal),
    standing: (signal) => persist(() => inquiries.standing(signal), patience, signal),
  };
}
