import type { FileTexts } from '../../core/tool.ts';
import type { Workspace } from './workspace.ts';

/** The same workspace; `onWritten` is called after each change, with both texts. */
export function watchWrites(workspace: Workspace, onWritten: (texts: FileTexts) => void): Workspace {
  const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
  return {
    ...workspace,
    async write(path, bytes) {
      const { place, old } = await workspace.current(path, 'part');
      const result = await workspace.write(path, bytes);
      onWritten({ path: place.path, before: old && decode(old), after: decode(bytes) });
      return result;
    },
  };
}
