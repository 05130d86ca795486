import { declareTools, prepareContents, REDACTED_NOTICE } from '../../agent/turn.ts';
import type { App } from '../../core/app.ts';
import type { Content } from '../../core/content.ts';
import type { Notify, TurnEvent } from '../../core/event.ts';
import type { History } from '../../core/history.ts';
import type { Out } from '../../core/io.ts';
import { omitEmpty } from '../../core/json.ts';
import type { ModelRequest } from '../../core/model.ts';
import { NO_USAGE } from '../../core/usage.ts';
import type { OpenedModel } from '../../engine/model/model.ts';
import { countTokens } from '../../engine/model/queries.ts';
import type { Run } from '../../engine/run.ts';
import { encodeDocument, encodeLine } from '../../render/json-text.ts';
import type { Renderer } from '../../render/renderer.ts';
import type { PromptOptions } from './options.ts';

interface Preview {
  readonly app: App;
  readonly run: Run;
  readonly notify: Notify;
  readonly history: History;
  readonly prompt: Content;
}

/** `--dry-run` and `--count-tokens`: the first request of the turn, shown or counted instead of sent. */
export async function* previewTurn(
  { dryRun }: Pick<PromptOptions, 'dryRun'>,
  { app, run, notify, history, prompt }: Preview,
): AsyncGenerator<TurnEvent, void> {
  const { agent, model: opened } = run.facts;
  const { signal } = run.limits;
  const { listSent } = await import('../../agent/compacted.ts');
  const sent = listSent({ ...history, contents: [...history.contents, prompt] });
  const contents = await prepareContents(sent, { origin: agent.origin, distrusted: 0 });
  const { model, ...rest } = { ...agent.request, ...declareTools(agent.tools, agent.request.tools), contents };
  const redacted = (await agent.redaction?.redact(rest)) ?? rest;
  if (redacted !== rest) notify(REDACTED_NOTICE);
  const request = { model, ...redacted };
  yield* dryRun
    ? preview(opened, request, notify)
    : countEvents(opened, await opened.provideFiles(request, { signal }), { app, signal, notify });
}

type OutputFormat = NonNullable<PromptOptions['outputFormat']>;

export function createPreviewRenderer(render: Renderer, out: Out, options: PromptOptions): Renderer {
  return options.dryRun ? previewRenderer(render, out) : countRenderer(render, out, options.outputFormat ?? 'json');
}

async function* preview(opened: OpenedModel, request: ModelRequest, notify: Notify): AsyncGenerator<TurnEvent, void> {
  const { listLocalFiles } = await import('../../engine/model/local-files.ts');
  for (const file of listLocalFiles(request)) notify(`would be uploaded: ${file}`);
  yield { type: 'text', delta: encodeDocument(await opened.preview(request)) };
  yield { type: 'end', finishReason: 'STOP', usage: NO_USAGE, model: request.model };
}

/** A preview is JSON already; only notices and failures need the chosen format. */
function previewRenderer(render: Renderer, out: Out): Renderer {
  const warnings: string[] = [];
  return async (event) => {
    if (event.type === 'notice') warnings.push(event.message);
    if (event.type === 'notice' || event.type === 'failure') await render(event);
    if (event.type === 'text') {
      await out.write(encodeDocument({ ...JSON.parse(event.delta), warnings: omitEmpty(warnings) }));
    }
  };
}

/** The count as turn events, as if the model had answered with the number. Throws as `countTokens` does. */
async function* countEvents(
  opened: OpenedModel,
  request: ModelRequest,
  { notify, ...context }: { readonly app: App; readonly signal: AbortSignal; readonly notify: Notify },
): AsyncGenerator<TurnEvent, void> {
  if (request.tools !== undefined && opened.backend === 'code-assist') {
    notify('the tools are not counted: Code Assist has no place for them');
  }
  yield { type: 'wait', what: request.model };
  const { model, totalTokens } = await countTokens(opened, request, context);
  yield { type: 'text', delta: `${totalTokens}\n` };
  yield { type: 'end', finishReason: 'STOP', usage: NO_USAGE, model };
}

function countRenderer(render: Renderer, out: Out, format: OutputFormat): Renderer {
  const notices: string[] = [];
  let totalTokens = 0;
  return async (event) => {
    if (event.type === 'notice') notices.push(event.message);
    if (event.type === 'text') totalTokens = Number(event.delta);
    if (event.type === 'end') {
      const counted = { model: event.model, totalTokens, warnings: omitEmpty(notices) };
      await out.write(format === 'json' ? encodeDocument(counted) : encodeLine(counted));
    }
    if (event.type === 'notice' || event.type === 'failure') await render(event);
  };
}
