import { createNoticeCollector } from '../../app/notice-collector.ts';
import type { CredentialChoice } from '../../auth/choice.ts';
import { resolveConfiguredModel } from '../../config/model-configs.ts';
import type { App, Settings } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { HttpResponse } from '../../core/io.ts';
import { formatDuration } from '../../core/text/format.ts';
import { openBackend } from '../../engine/model/backend.ts';
import { createQueries } from '../../engine/model/queries.ts';
import { resolveModel } from '../../models/choice.ts';
import { type Finding, okFinding, toFailedFinding, warningFinding } from './finding.ts';

/** Tokens and certificates depend on the clock. */
const SKEW_MS = 120_000;

export async function checkOnline(choice: CredentialChoice, app: App, settings: Settings): Promise<readonly Finding[]> {
  let lastResponse: { readonly host: string; readonly response: HttpResponse } | undefined;
  const send: App['send'] = async (request, signal) => {
    const response = await app.send(request, signal);
    lastResponse = { host: request.url.host, response };
    return response;
  };
  const recording = { ...app, send };
  const { notify } = createNoticeCollector({}, app);
  const found: Finding[] = [];
  try {
    const opened = await openBackend(choice, { app: recording, settings, notify });
    const queries = await createQueries(opened, recording);
    const { lines } = await queries.checkAccount(app.signal);
    found.push(okFinding('online', lines.join(' ')));
    const resolveId = (name: string | undefined): string => resolveModel(name, { backend: opened.name }).id;
    const configured = resolveConfiguredModel(settings.modelConfigs ?? {}, settings.model, resolveId);
    const id = resolveId(configured.model ?? settings.model);
    const models = await queries.listModels(app.signal);
    found.push(
      checkOfferedModel(
        id,
        models.map((model) => model.id),
      ),
    );
  } catch (thrown) {
    if (app.signal.aborted) throw app.signal.reason;
    found.push(toFailedFinding('online', AppError.from(thrown)));
  }
  if (lastResponse === undefined) return found;
  const reached: Finding = okFinding('online', `${lastResponse.host} answers`);
  return [reached, ...checkClock(lastResponse.response, app), ...found];
}

function checkOfferedModel(id: string, models: readonly string[]): Finding {
  if (models.length === 0 || models.includes(id)) return okFinding('online', `the model ${id} is offered`);
  return warningFinding('online', `the model ${id} is not among the ${models.length} that are offered`, {
    words: 'To see them',
    command: 'gmn models --refresh',
  });
}

function checkClock({ headers: { date } }: HttpResponse, { clock }: App): readonly Finding[] {
  const there = Date.parse(date ?? '');
  if (Number.isNaN(there)) return [];
  const skew = clock.now() - there;
  if (Math.abs(skew) < SKEW_MS) return [okFinding('clock', "agrees with the server's")];
  const way = skew > 0 ? 'ahead of' : 'behind';
  return [
    warningFinding('clock', `${formatDuration(Math.abs(skew))} ${way} the server's; tokens may be refused`, {
      words: 'Set the clock of this machine',
    }),
  ];
}
