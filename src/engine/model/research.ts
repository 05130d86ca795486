import { readSetting } from '../../config/keys.ts';
import type { App } from '../../core/app.ts';
import { isRefused } from '../../core/batches.ts';
import type { Part } from '../../core/content.ts';
import type { AppError } from '../../core/error.ts';
import type { Notify } from '../../core/event.ts';
import type { InteractionsClient } from '../../core/interaction.ts';
import type { BilledCall, Usage, UsageDetails } from '../../core/usage.ts';
import { computeCost, findPrice, sumCosts } from '../../models/prices.ts';
import { sha256 } from '../../platform/runtime/native.ts';
import { type BackendServiceOptions, missingServiceError, openBackendService } from './backend-service.ts';
import type { OpenedModel } from './model.ts';

export type ResearcherOptions = Pick<BackendServiceOptions, 'auth' | 'backend' | 'demo'>;

export interface Researcher {
  readonly opened: OpenedModel;
  readonly client: InteractionsClient;
  /** Equal for the same question of the same account to the same agent. */
  toKey(agent: string, input: readonly Part[]): string;
  /** The input as it may be sent, with the addresses of files that are uploaded for it. Throws AppError. */
  prepare(input: readonly Part[], signal: AbortSignal): Promise<readonly Part[]>;
  /** Without gmn's own credentials. */
  redact(text: string): Promise<string>;
  hasPrice(agent: string): boolean;
  /** In dollars; undefined if it is not known. */
  toCost(agent: string, usage: Usage & UsageDetails): number | undefined;
  toCall(agent: string, usage: Usage & UsageDetails): BilledCall;
  close(): Promise<void>;
}

/** Throws AppError `auth` if the backend has no agents. Sends nothing yet. */
export function openResearcher(options: ResearcherOptions, app: App, notify: Notify): Promise<Researcher> {
  return openBackendService(options, app, { notify }, async ({ opened, redaction }) => {
    if (opened.interactions === undefined) throw missingServiceError('research', opened);
    const client = await opened.interactions();
    const overrides = readSetting((await app.settings()).document ?? {}, 'prices');
    const context = (agent: string) =>
      ({ model: agent, at: app.clock.now(), backend: 'gemini-api', overrides }) as const;
    const toCall = (agent: string, usage: BilledCall['usage']): BilledCall => ({
      ...{ model: agent, usage, at: app.clock.now(), backend: opened.billedTo },
    });
    return {
      opened,
      client,
      toKey: (agent, input) => sha256(JSON.stringify([opened.account(), agent, input])),
      async prepare(given, signal) {
        const parts = await redaction.redact(given);
        const local = { model: '', contents: [{ role: 'user', parts }], generationConfig: {} } as const;
        return (await opened.provideFiles(local, { signal })).contents[0]?.parts ?? [];
      },
      redact: (text) => redaction.redact(text),
      hasPrice: (agent) => findPrice(context(agent)) !== undefined,
      toCost: (agent, usage) =>
        opened.billedTo === 'demo' ? sumCosts([toCall(agent, usage)]) : computeCost(usage, context(agent)),
      toCall,
    };
  });
}

/** Whether the service has certainly not begun: it refused, the request never left, or there was no credential for it. */
export function isKnownNotBegun(error: AppError): boolean {
  return isRefused(error) || error.fault === 'auth' || (error.fault === 'api' && error.details.isUnsent === true);
}
