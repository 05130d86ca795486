import type { Agent } from '../../agent/agent.ts';
import type { PendingRow } from '../../batch/engine.ts';
import type { AttemptAnswer, PreparedRow } from '../../batch/local-engine.ts';
import type { RowInput } from '../../batch/row.ts';
import type { Template } from '../../config/templates.ts';
import type { App } from '../../core/app.ts';
import type { Content, Part } from '../../core/content.ts';
import { AppError } from '../../core/error.ts';
import type { FileSupport } from '../../core/files.ts';
import { estimatePartTokens } from '../../core/media-tokens.ts';
import { isOfficeType } from '../../core/text/office.ts';
import { listStateDirectories } from '../../core/text/secrets.ts';
import type { BilledCall } from '../../core/usage.ts';
import { createUnsavedConversation } from '../../engine/conversation.ts';
import type { Run } from '../../engine/run.ts';
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
import { fillTemplate, listPlaceholders } from '../template.ts';
import type { Prices } from './price.ts';

interface RequestParts {
  readonly app: App;
  readonly run: Run;
  readonly chooseRun: (name: string) => Promise<Run>;
  readonly template: Template | undefined;
  readonly params: readonly string[];
  /** Put before the prompt of every row. */
  readonly words: string | undefined;
  readonly attachments: readonly AttachedItem[];
  readonly prices: Pick<Prices, 'sum'>;
  readonly onCall: (call: BilledCall) => void;
  readonly onNotice: (message: string) => void;
}

export interface RowRequest {
  readonly run: Run;
  readonly agent: Agent;
  readonly contents: readonly Content[];
}

/** Converts rows to requests. These functions throw AppError `usage` for a row that cannot be asked. */
export async function createRequests(parts: RequestParts) {
  const { app } = parts;
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

  /** The parts in front of the last content of a row with `contents`; for other rows, the whole prompt. */
  const toParts = async (input: RowInput, fileSupport: FileSupport): Promise<readonly Part[]> => {
    const text = await toPromptText(input, parts);
    const { files = [], contents } = input;
    const isBlank = text === undefined || text.trim() === '';
    // The files of -f are the same for every row, so they alone ask nothing.
    if (isBlank && files.length === 0 && contents === undefined) return [];
    if (files.length === 0 && parts.attachments.length === 0) return isBlank ? [] : [{ text }];
    const attachments = createAttachments(fileSupport);
    for (const item of parts.attachments) {
      if (fileSupport.officeGap && isOfficeFile(item)) throw officeError(item.name, fileSupport.officeGap);
      attachments.add(item);
    }
    for (const name of files) attachments.add(await readRowFile(name, attachments));
    return buildParts(attachments, [text], app.signal);
  };

  const toRequest = async ({ input }: Pick<PendingRow, 'input'>): Promise<RowRequest> => {
    const run = input.model === undefined ? parts.run : await parts.chooseRun(input.model);
    const { facts } = run;
    const agent = input.system === undefined ? facts.agent : withSystem(facts.agent, input.system);
    const added = await toParts(input, facts.model.fileSupport);
    const { role = 'user', parts: own = [] } = input.contents?.at(-1) ?? {};
    const content: Content = { role, parts: [...added, ...own] };
    if (content.parts.length > 0) return { run, agent, contents: [...(input.contents?.slice(0, -1) ?? []), content] };
    throw new AppError('usage', 'the row has nothing to ask: neither "prompt" nor "contents" nor "files"', {
      hint: 'Add one, or say what to ask with --template or -p.',
    });
  };

  const prepare = async (row: PendingRow): Promise<PreparedRow> => {
    const request = await toRequest(row);
    const { agent, contents } = request;
    return {
      tokens: guessTokens(request),
      key: () => sha256(JSON.stringify([agent.request, contents])),
      ask: (signal) => askRow(request, parts, signal),
    };
  };

  return { prepare, toRequest };
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

async function toPromptText(input: RowInput, parts: RequestParts): Promise<string | undefined> {
  const { template, words } = parts;
  if (input.contents !== undefined && template !== undefined) {
    throw new AppError('usage', 'the row has "contents", in which --template has no place', {
      hint: 'Use -p for words before its last question, or give the row a "prompt" instead.',
    });
  }
  const own = template === undefined ? input.prompt : await fillRowTemplate(input, template, parts.params);
  return words === undefined || own === undefined ? (own ?? words) : `${words}\n\n${own}`;
}

/** Fields of the row are parameters of the template; fields without a placeholder are ignored. */
function fillRowTemplate({ prompt, params }: RowInput, template: Template, flags: readonly string[]): Promise<string> {
  const places = template.kind === 'markdown' ? listPlaceholders(template) : [];
  const own = Object.entries(params).filter(([name]) => places.includes(name) && name !== 'prompt');
  const given = flags.filter((flag) => !own.some(([name]) => flag.startsWith(`${name}=`)));
  return fillTemplate(template, {
    params: [...given, ...own.map(([name, value]) => `${name}=${value}`)],
    words: prompt,
    stdin: async () => '',
    run: () => Promise.reject(unsafeTemplateError(template)),
    read: () => Promise.reject(unsafeTemplateError(template)),
    quote: (text) => text,
  });
}

/** Rows are data: a template must not run a command or read a file because of them. Throws AppError `usage`. */
export function checkTemplate(template: Template): void {
  const { kind, body, name } = template;
  if (kind === 'command' && /[!@]\{/.test(body)) throw unsafeTemplateError(template);
  if (kind === 'markdown' && listPlaceholders(template).includes('stdin')) {
    throw new AppError('usage', `the template ${name} wants stdin, which rows do not have`, {
      hint: 'Use {{prompt}} or a field of the rows in its place.',
    });
  }
}

function unsafeTemplateError({ name }: Template): AppError {
  return new AppError(
    'usage',
    `the template ${name} runs commands or reads files (!{…}, @{…}), which a batch does not do`,
    {
      hint: 'Use a template without them; files of a row are named in its "files".',
    },
  );
}

function withSystem(agent: Agent, text: string): Agent {
  return { ...agent, request: { ...agent.request, systemInstruction: { role: 'user', parts: [{ text }] } } };
}

/** Bytes of UTF-8. About right for words of Latin letters, and for Japanese characters. */
const BYTES_PER_TOKEN = 4;

/** Rough, but cheap; the engine learns how far it is off. */
export function guessTokens({ agent, contents }: RowRequest): number {
  const { systemInstruction } = agent.request;
  let bytes = 0;
  let media = 0;
  for (const { parts } of systemInstruction === undefined ? contents : [systemInstruction, ...contents]) {
    for (const part of parts) {
      if ('text' in part) bytes += Buffer.byteLength(part.text);
      else media += estimatePartTokens(part);
    }
  }
  return Math.ceil(bytes / BYTES_PER_TOKEN) + media;
}
