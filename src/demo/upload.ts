import { createSerial, type Serial } from '../core/async.ts';
import { toJsonObject } from '../core/json.ts';
import type { SpoolFile } from '../platform/files/spool.ts';
import type { RequestHead, ServedReply, StreamHandler } from '../platform/http/server.ts';
import { randomToken } from '../platform/runtime/random-id.ts';
import { type FileStore, findOwner, hasCredential, OVERLOADED, type StoredFile, toResource } from './file-store.ts';
import { type ErrorResponse, errorResponse, invalidArgumentResponse } from './google-error.ts';
import { cleanPath, parseBody, toCamelKeys } from './request.ts';
import { sendError } from './send.ts';

interface Upload {
  readonly owner: string;
  readonly name: string | undefined;
  readonly displayName: string | undefined;
  readonly mimeType: string;
  readonly bytes: number;
  readonly content: SpoolFile;
  file?: StoredFile;
  readonly inOrder: Serial;
}

const UPLOAD = /^\/upload\/(?:v1|v1alpha|v1beta)\/files$/;
const MAX_BYTES = 2 * 1024 ** 3;
const GRANULARITY = 256 * 1024;
const OWN_NAME = /^files\/[a-z\d](?:[a-z\d-]{0,38}[a-z\d])?$/;
const START_BYTES = 64 * 1024;

type Receive = (head: RequestHead, body: AsyncIterable<Uint8Array>, reply: ServedReply) => Promise<void>;

export function createUploadHandler(store: FileStore): (head: RequestHead) => StreamHandler | undefined {
  const uploads = new Map<string, Upload>();
  const start = createStartHandler(store, uploads);
  const handleCommand = createCommandHandler(store, uploads);
  return (head) => {
    if (head.method !== 'POST' || !UPLOAD.test(cleanPath(head))) return undefined;
    if (head.query.has('upload_id')) return (body, reply) => handleCommand(head, body, reply);
    // Without a credential it is refused where all other requests are.
    return hasCredential(head, 'gemini') ? (body, reply) => start(head, body, reply) : undefined;
  };
}

function createStartHandler(store: FileStore, uploads: Map<string, Upload>): Receive {
  const { faults } = store;
  return async (head, body, reply) => {
    const parsed = parseBody((await readUploadText(body, START_BYTES)) || '{}');
    if (store.isOverloaded('start')) return sendError(reply, OVERLOADED);
    if (!parsed.ok) return sendError(reply, invalidArgumentResponse(parsed.message));
    const { name, displayName } = toCamelKeys(toJsonObject(parsed.value.file));
    const bytes = Number(head.headers['x-goog-upload-header-content-length'] ?? 'NaN');
    const isOwnIdRefused = name !== undefined && faults.take(['upload-ids']) !== undefined;
    const problem = checkStart({ name, bytes, isOwnIdRefused });
    if (problem !== undefined) return sendError(reply, problem);
    if (typeof name === 'string' && store.find(name) !== undefined) return sendError(reply, existsResponse(name));
    const id = randomToken();
    uploads.set(id, {
      owner: findOwner(head),
      name: typeof name === 'string' ? name : undefined,
      displayName: typeof displayName === 'string' ? displayName : undefined,
      mimeType: head.headers['x-goog-upload-header-content-type'] ?? 'application/octet-stream',
      bytes,
      content: await store.createContent(),
      inOrder: createSerial(),
    });
    const url = `http://${head.headers.host}${head.path}?upload_id=${id}&upload_protocol=resumable`;
    reply.send(200, { ...uploadHeaders('active', 0), 'x-goog-upload-url': url }, '');
  };
}

function createCommandHandler(store: FileStore, uploads: Map<string, Upload>): Receive {
  const { faults } = store;
  const countReceived = ({ content }: Upload): number => faults.take(['upload-size'])?.amount ?? content.bytes;

  const takeChunk: (upload: Upload, ...rest: Parameters<Receive>) => Promise<void> = async (
    upload,
    head,
    body,
    reply,
  ) => {
    const command = head.headers['x-goog-upload-command'] ?? '';
    const problem = checkChunk(upload, head, command) ?? (store.isOverloaded('upload') ? OVERLOADED : undefined);
    if (problem !== undefined) {
      await drain(body);
      return sendError(reply, problem);
    }
    const cutAt = faults.take(['upload-cut'])?.amount;
    if (!(await append(upload.content, body, cutAt))) return reply.cut();
    if (!command.includes('finalize')) return reply.send(200, uploadHeaders('active', countReceived(upload)), '');
    if (upload.name !== undefined && store.find(upload.name)) return sendError(reply, existsResponse(upload.name));
    const { name, owner, mimeType, displayName, content } = upload;
    upload.file = store.add({ name, owner, mimeType, displayName, content, source: 'UPLOADED' });
    const text = `${JSON.stringify({ file: toResource(upload.file, head.headers.host) }, undefined, 2)}\n`;
    reply.send(200, { ...uploadHeaders('final', upload.bytes), 'content-type': 'application/json' }, text);
  };

  const handleCommand: typeof takeChunk = async (upload, head, body, reply) => {
    if (head.headers['x-goog-upload-command'] !== 'query') return takeChunk(upload, head, body, reply);
    if (store.isOverloaded('query')) return sendError(reply, OVERLOADED);
    reply.send(200, uploadHeaders(upload.file ? 'final' : 'active', countReceived(upload)), '');
  };

  return async (head, body, reply) => {
    const id = head.query.get('upload_id') ?? '';
    if (faults.take(['upload-forgotten']) !== undefined) uploads.delete(id);
    const upload = uploads.get(id);
    if (upload === undefined) {
      await drain(body);
      return sendError(reply, UNKNOWN_UPLOAD);
    }
    // One command at a time: bytes of a client that has disconnected may still arrive.
    return upload.inOrder(() => handleCommand(upload, head, body, reply));
  };
}

function checkStart(request: {
  readonly name: unknown;
  readonly bytes: number;
  readonly isOwnIdRefused: boolean;
}): ErrorResponse | undefined {
  const { name, bytes, isOwnIdRefused } = request;
  if (!Number.isSafeInteger(bytes) || bytes < 0) {
    return invalidArgumentResponse('X-Goog-Upload-Header-Content-Length must be the size of the file.');
  }
  if (bytes > MAX_BYTES) return invalidArgumentResponse(`A file may have at most ${MAX_BYTES} bytes.`);
  const isGood = name === undefined || (typeof name === 'string' && OWN_NAME.test(name));
  return isGood && !isOwnIdRefused ? undefined : invalidArgumentResponse('Invalid value for "file.name".');
}

function checkChunk(
  { content, bytes, file }: Upload,
  { headers }: RequestHead,
  command: string,
): ErrorResponse | undefined {
  const isLast = command.includes('finalize');
  const length = Number(headers['content-length'] ?? 0);
  if (!/^(?:upload|upload, ?finalize|finalize)$/.test(command))
    return invalidArgumentResponse('Unknown upload command.');
  if (file !== undefined) return invalidArgumentResponse('The upload is final.');
  const offset = Number(headers['x-goog-upload-offset'] ?? content.bytes);
  if (offset !== content.bytes) return invalidArgumentResponse(`The offset must be ${content.bytes}, not ${offset}.`);
  const end = offset + length;
  if (isLast ? end !== bytes : end > bytes)
    return invalidArgumentResponse(`The file was announced with ${bytes} bytes.`);
  const isWhole = isLast || length % GRANULARITY === 0;
  return isWhole
    ? undefined
    : invalidArgumentResponse(`All but the last chunk must be multiples of ${GRANULARITY} bytes.`);
}

/** False if it ends early: by a fault, or because the client is gone. What arrived until then is kept. */
async function append(
  content: SpoolFile,
  body: AsyncIterable<Uint8Array>,
  cutAt: number | undefined,
): Promise<boolean> {
  let taken = 0;
  try {
    for await (const chunk of body) {
      const part = cutAt === undefined ? chunk : chunk.subarray(0, cutAt - taken);
      await content.append(part);
      taken += part.length;
      if (cutAt !== undefined && taken >= cutAt) return false;
    }
    return true;
  } catch {
    return false;
  } finally {
    await content.finish();
  }
}

async function readUploadText(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size <= maxBytes) chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function drain(body: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of body);
}

function uploadHeaders(status: string, received: number): Readonly<Record<string, string>> {
  return {
    'x-goog-upload-status': status,
    'x-goog-upload-size-received': String(received),
    'x-goog-upload-chunk-granularity': String(GRANULARITY),
  };
}

const UNKNOWN_UPLOAD = errorResponse(404, 'NOT_FOUND', 'There is no such upload.');

function existsResponse(name: string): ErrorResponse {
  return errorResponse(409, 'ALREADY_EXISTS', `${name} exists already.`);
}
