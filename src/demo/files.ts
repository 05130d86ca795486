import { type JsonObject, toJsonObject } from '../core/json.ts';
import { formatSize } from '../core/text/format.ts';
import type { ServedReply, ServedRequest } from '../platform/http/server.ts';
import {
  createFileStore,
  findOwner,
  OVERLOADED,
  type StoredFile,
  type StoreOptions,
  toResource,
  toState,
} from './file-store.ts';
import { ApiError, type ErrorResponse, errorResponse } from './google-error.ts';
import { type DemoContent, type DemoPart, slicePage, toCamelKeys } from './request.ts';
import { sendJson } from './send.ts';
import { createUploadHandler } from './upload.ts';

export type DemoFiles = ReturnType<typeof createDemoFiles>;

interface MadeFile {
  readonly mimeType: string;
  readonly displayName?: string;
  readonly content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/**
 * Uploaded files, and those that the service makes itself, in a temporary directory. https://ai.google.dev/api/files
 */
export function createDemoFiles(options: StoreOptions) {
  const store = createFileStore(options);
  const { files, findOwn } = store;
  return {
    receive: createUploadHandler(store),
    /** Without an id: the list. */
    async answer(id: string, request: ServedRequest, reply: ServedReply, isDownload: boolean): Promise<void> {
      const owner = findOwner(request);
      const isDeletion = request.method === 'DELETE';
      if (store.isOverloaded(id === '' ? 'list' : isDeletion ? 'delete' : 'get')) throw new ApiError(OVERLOADED);
      const { host } = request.headers;
      if (id === '') {
        const own = [...files.values()].filter(({ name }) => findOwn(owner, name) !== undefined).reverse();
        return sendJson(reply, toPage(own, request.query, host));
      }
      const file = findOwn(owner, `files/${id}`);
      if (file === undefined) throw new ApiError(noAccessResponse(id));
      if (isDeletion) {
        files.delete(file.name);
        await file.content.remove();
        return sendJson(reply, {});
      }
      if (isDownload) return sendContent(file, reply);
      const body = toResource(file, host);
      // Each look brings it nearer to its final state.
      file.looksLeft = Math.max(0, file.looksLeft - 1);
      sendJson(reply, body);
    },
    async create(owner: string, { mimeType, displayName, content: chunks }: MadeFile): Promise<string> {
      const content = await store.createContent();
      for await (const chunk of chunks) await content.append(chunk);
      await content.finish();
      return store.add({ name: undefined, owner, mimeType, displayName, content, source: 'GENERATED' }).name;
    },
    read: (owner: string, name: string) => findOwn(owner, name)?.content.read(),
    /** Adds to each reference what the file is. Throws ApiError. */
    resolve: (owner: string, contents: readonly DemoContent[]) =>
      resolveContents(contents, (name) => findOwn(owner, name)),
    close: store.close,
  };
}

async function sendContent({ mimeType, content }: StoredFile, reply: ServedReply): Promise<void> {
  reply.begin(200, { 'content-type': mimeType, 'content-length': String(content.bytes) });
  for await (const chunk of content.read()) await reply.write(chunk);
  reply.end();
}

function toPage(all: readonly StoredFile[], query: URLSearchParams, host: string | undefined): JsonObject {
  const { items, next } = slicePage(all, query, { usual: 10, most: 100 });
  const files = items.map((file) => toResource(file, host));
  return { files: files.length === 0 ? undefined : files, ...next };
}

function resolveContents(
  contents: readonly DemoContent[],
  find: (name: string) => StoredFile | undefined,
): readonly DemoContent[] {
  const resolvePart = (part: DemoPart): DemoPart => {
    const given = toCamelKeys(toJsonObject(part.fileData));
    const [, id] = /^https?:\/\/[^/]+\/v1(?:alpha|beta)?\/files\/([\w-]+)$/.exec(String(given.fileUri ?? '')) ?? [];
    if (id === undefined) return part;
    const file = find(`files/${id}`);
    if (file === undefined) throw new ApiError(noAccessResponse(id));
    if (toState(file) !== 'ACTIVE') throw new ApiError(notActiveResponse(id));
    const about = `${file.displayName ?? file.name}, ${formatSize(file.content.bytes)}`;
    return { ...part, fileData: { ...given, mimeType: given.mimeType ?? file.mimeType, about } };
  };
  return contents.map((content) => ({ ...content, parts: content.parts.map(resolvePart) }));
}

function noAccessResponse(id: string): ErrorResponse {
  const message = `The File ${id} does not exist, or it is not yours.`;
  return errorResponse(403, 'PERMISSION_DENIED', message);
}

function notActiveResponse(id: string): ErrorResponse {
  const message = `The File ${id} is not ACTIVE, so it cannot be used.`;
  return errorResponse(400, 'FAILED_PRECONDITION', message);
}
