import { persist } from '../api/json-call.ts';
import type { Service } from '../api/service.ts';
import type { App } from '../core/app.ts';
import type { OpenedBackend } from './opened-backend.ts';

/** The service of a backend, each question repeated as its failures advise. */
export async function persistentService(
  { service: open, retryBaseMs }: Pick<OpenedBackend, 'service' | 'retryBaseMs'>,
  app: App,
): Promise<Service> {
  const service = await open();
  const patience = { clock: app.clock, random: app.random, trace: app.trace, retryBaseMs };
  return {
    countTokens: (request, signal) => persist(() => service.countTokens(request, signal), patience, signal),
    listModels: (signal) => persist(() => service.listModels(signal), patience, signal),
    standing: (signal) => persist(() => service.standing(signal), patience, signal),
  };
}
