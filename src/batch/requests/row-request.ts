import type { Agent } from '../../agent/agent.ts';
import type { App } from '../../core/app.ts';
import type { Content, Part } from '../../core/content.ts';
import { AppError } from '../../core/error.ts';
import type { FileSupport } from '../../core/files.ts';
import { estimatePartTokens } from '../../core/media-tokens.ts';
import { isOfficeType } from '../../core/text/office.ts';
import { listStateDirectories } from '../../core/text/secrets.ts';
import type { BilledCall } from '../../core/usage.ts';
import type { Run } from '../../engine/run.ts';
import { createUnsavedConversation } from '../../engine/session/conversation.ts';
import { buildParts } from '../../input/assembly.ts';
import {
  type Attachments,
  createAttachments,
  isAttachment,
  officeError,
  unsendableError,
} from '../../input/attachment.ts';
import { type AttachedItem, loadFile } from '../../input/files.ts';
import { findUserHomes } from '../../platform/host.ts';
import { sha256 } from '../../platform/runtime/native.ts';
import { createFence, type Fence } from '../../tools/workspace/fence.ts';
import type { RowInput } from '../rows/row.ts';
import type { AttemptAnswer, PendingRow, PreparedRow } from '../rows/row-engine.ts';
import type { Prices } from './price.ts';
import type { RowPrompt } from './row-prompt.ts';

interface PartSources {
  readonly app: App;
  readonly prompt: RowPrompt;
  /** The files of -f. */
  readonly attachments: readonly AttachedItem[];
}

interface RequestParts extends PartSources {
  readonly run: Run;
  readonly chooseRun: (name: string) => Promise<Run>;
  readonly prices: Pick<Prices, 'sum'>;
  readonly onCall: (call: BilledCall) => void;
  readonly onNotice: (message: string) => void;
}

export interface RowRequest {
  readonly run: Run;
  readonly agent: Agent;
  readonly contents: readonly Content[];
}

/** The parts in front of the last content of a row with `contents`; for other rows, the whole prompt. Throws AppError `usage`. */
export function createRowParts({ app, prompt, attachments: shared }: PartSources) {
  let fence: Promise<Fence> | undefined;
  const openFence = (): Promise<Fence> =>
    (fence ??= createFence({
      roots: [app.cwd],
      denied: listStateDirectories(app.homes(), findUserHomes(app.env)),
    }));

  const readRowFile = async (name: string, attachments: Attachments): Promise<AttachedItem> => {
    const place = await (await openFence()).place(name, 'read');
    if (place.isSensitive) {
      throw new AppError('usage', `${name} may hold secrets, so a row cannot send it`, {
        hint: 'If you want to send it, name it yourself: -f <path>',
      });
    }
    const { item } = await loadFile(place.path, name, { attachments }, { links: 'never' });
    if (!isAttachment(item)) throw unsendableError(name, item);
    return item;
  };

  return async (input: RowInput, fileSupport: FileSupport): Promise<readonly Part[]> => {
    const text = await prompt.toPromptText(input);
    const { files = [], contents } = input;
    const isBlank = text === undefined || text.trim() === '';
    // The files of -f are the same for every row, so they alone ask nothing.
    if (isBlank && files.length === 0 && contents === undefined) return [];
    if (files.length === 0 && shared.length === 0) return isBlank ? [] : [{ text }];
    const attachments = createAttachments(fileSupport);
    for (const item of shared) {
      if (fileSupport.officeGap && isOfficeFile(item)) throw officeError(item.name, fileSupport.officeGap);
      attachments.add(item);
    }
    for (const name of files) attachments.add(await readRowFile(name, attachments));
    return buildParts(attachments, [text], app.signal);
  };
}

/** Converts rows to requests. These functions throw AppError `usage` for a row that cannot be asked. */
export async function createRequests(parts: RequestParts) {
  const toParts = createRowParts(parts);
  const toRequest = async ({ input }: Pick<PendingRow, 'input'>): Promise<RowRequest> => {
    const { isPlace } = parts.prompt;
    // A column that the prompt names is text for it: a `model` may be that of a car.
    const model = isPlace('model') ? undefined : input.model;
    const system = isPlace('system') ? undefined : input.system;
    const run = model === undefined ? parts.run : await parts.chooseRun(model);
    const { facts } = run;
    const agent = system === undefined ? facts.agent : withSystem(facts.agent, system);
    const added = await toParts(input, facts.model.fileSupport);
    const { role = 'user', parts: own = [] } = input.contents?.at(-1) ?? {};
    const content: Content = { role, parts: [...added, ...own] };
    if (content.parts.length > 0) return { run, agent, contents: [...(input.contents?.slice(0, -1) ?? []), content] };
    throw emptyRowError();
  };

  const prepare = async (row: PendingRow): Promise<PreparedRow> => {
    const request = await toRequest(row);
    const { agent, contents } = request;
    return {
      tokens: guessTokens(request),
      hasOwnModel: request.run !== parts.run,
      key: () => sha256(JSON.stringify([agent.request, contents])),
      ask: (signal) => askRow(request, parts, signal),
    };
  };

  return { prepare, toRequest };
}

export function emptyRowError(): AppError {
  return new AppError('usage', 'the row has nothing to ask: neither "prompt" nor "contents" nor "files"', {
    hint: 'Add one, or say what to ask with --template or -p.',
  });
}

/** The files of -f were read for another model. */
function isOfficeFile(item: AttachedItem): boolean {
  const { mimeType = '' } = 'isUploaded' in item ? item.upload : 'mimeType' in item ? item : {};
  return isOfficeType(mimeType);
}

async function askRow(
  { run, agent, contents }: RowRequest,
  { prices, onCall, onNotice }: RequestParts,
  signal: AbortSignal,
): Promise<AttemptAnswer> {
  const calls: BilledCall[] = [];
  const text: string[] = [];
  const turn = run.turn(contents.at(-1) as Content, {
    conversation: createUnsavedConversation({ earlier: contents.slice(0, -1) }),
    request: agent.request,
    signal,
    onCall(call) {
      calls.push(call);
      onCall(call);
    },
  });
  for await (const event of turn) {
    if (event.type === 'text') text.push(event.delta);
    else if (event.type === 'notice') onNotice(event.message);
    else if (event.type === 'failure') throw event.error;
    else if (event.type === 'end') {
      const { model, usage, finishReason } = event;
      const answer = text.join('');
      return {
        ...(run.facts.schema === undefined ? { response: answer } : { json: JSON.parse(answer) }),
        ...{ model, usage, cost: prices.sum(calls) },
        finishReason: finishReason === 'STOP' ? undefined : finishReason,
      };
    }
  }
  throw new AppError('internal', 'the turn ended without an end');
}

function withSystem(agent: Agent, text: string): Agent {
  return { ...agent, request: { ...agent.request, systemInstruction: { role: 'user', parts: [{ text }] } } };
}

/** Bytes of UTF-8. About right for words of Latin letters, and for Japanese characters. */
const BYTES_PER_TOKEN = 4;

export function guessTokens({ agent, contents }: RowRequest): number {
  const { systemInstruction } = agent.request;
  const all = systemInstruction === undefined ? contents : [systemInstruction, ...contents];
  return guessPartTokens(all.flatMap(({ parts }) => parts));
}

/** Rough, but cheap; the engine learns how far it is off. */
export function guessPartTokens(parts: readonly Part[]): number {
  let bytes = 0;
  let media = 0;
  for (const part of parts) {
    if ('text' in part) bytes += Buffer.byteLength(part.text);
    else media += estimatePartTokens(part);
  }
  return Math.ceil(bytes / BYTES_PER_TOKEN) + media;
}
