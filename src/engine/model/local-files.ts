import type { FilePart, Part } from '../../core/content.ts';
import { describeFile } from '../../core/files.ts';
import { isObject } from '../../core/json.ts';
import type { ModelRequest } from '../../core/model.ts';

type LocalPart = Required<Pick<FilePart, 'fileData' | 'localFile'>>;

/** The part, if it names a file of this machine and has all fields: a session may come from elsewhere. */
export function findLocalFile(part: Part): LocalPart | undefined {
  if (!('fileData' in part) || !isObject(part.fileData) || !isObject(part.localFile)) return undefined;
  const { name, path, bytes, sha256, modifiedAt } = part.localFile;
  const isWhole =
    [name, path, sha256, part.fileData.mimeType].every((text) => typeof text === 'string') &&
    /^[\da-f]{64}$/.test(sha256) &&
    [bytes, modifiedAt].every((value) => typeof value === 'number');
  return isWhole ? { fileData: part.fileData, localFile: part.localFile } : undefined;
}

export function listLocalFiles({ contents }: Pick<ModelRequest, 'contents'>): readonly string[] {
  return contents.flatMap(({ parts }) =>
    parts.flatMap((part) => ('localFile' in part && findLocalFile(part) ? [describeFile(part)] : [])),
  );
}

/** The request as it may be shown or sent, without paths of this machine. */
export function withoutLocalFiles(request: ModelRequest): ModelRequest {
  const contents = request.contents.map((content) => ({
    ...content,
    parts: content.parts.map((part) => {
      if (!('localFile' in part)) return part;
      const { localFile: _, ...rest } = part;
      return rest;
    }),
  }));
  return { ...request, contents };
}
