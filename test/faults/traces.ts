import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { toContents } from '../../src/agent/history.ts';
import { createBlobStore } from '../../src/platform/files/blobs.ts';
import { loadSession } from '../../src/session/load.ts';
import { objection, type WirePart } from '../support/gemini-rules.ts';
import { listTree } from '../support/temporary.ts';

/** Every path below a directory, directories too, without the code cache. */
function pathsIn(directory: string): readonly string[] {
  try {
    return listTree(directory)
      .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
      .filter((path) => !/^\.gmn\/cache(?:\/|$)/.test(path))
      .sort();
  } catch {
    return [];
  }
}

/** What a tree is, to the byte: names, modes, contents, links. */
export function fingerprint(directory: string): string {
  const hash = createHash('sha256');
  for (const path of pathsIn(directory)) {
    const file = join(directory, path);
    const status = lstatSync(file);
    hash.update(`${path}\0${status.mode}\0`);
    if (status.isFile()) hash.update(readFileSync(file));
    else if (status.isSymbolicLink()) hash.update(readlinkSync(file));
  }
  return hash.digest('hex');
}

/** Files that somebody was still at work on. */
export function leftovers(root: string): readonly string[] {
  return pathsIn(root).filter((path) => /\.tmp$|\.lock$|\.breaking(?:\.\d+)?$|\/locks\/|^tmp\//.test(path));
}

/** Whatever others may look into, of what is gmn's own. */
export function openModes(home: string): readonly string[] {
  if (process.platform === 'win32') return [];
  return pathsIn(home)
    .filter((path) => path === '.gmn' || path.startsWith('.gmn/'))
    .filter((path) => {
      const status = lstatSync(join(home, path));
      return !status.isSymbolicLink() && (status.mode & 0o077) !== 0;
    });
}

/** The processes that carry a marker in their environment. */
export function marked(marker: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(marker) && !isZombie(pid);
      } catch {
        return false;
      }
    });
}

function isZombie(pid: number): boolean {
  const status = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return status.slice(status.lastIndexOf(')') + 2).startsWith('Z');
}

/** What is wrong with the saved sessions: each must load, and make a history that the API takes. */
export async function brokenSessions(gmnHome: string): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const path of pathsIn(gmnHome).filter((name) => /^sessions\/[^/]+\.jsonl$/.test(name))) {
    try {
      const loaded = await loadSession(join(gmnHome, path), createBlobStore(join(gmnHome, 'blobs')));
      const kept = [
        ...loaded.turns.items.map(({ content }) => content),
        { role: 'user' as const, parts: [{ text: 'next' }] },
      ];
      // As it would stand on the wire.
      const contents: readonly { readonly role: string; readonly parts: readonly WirePart[] }[] = JSON.parse(
        JSON.stringify(toContents(kept, { origin: () => 'nowhere', distrusted: 0 })),
      );
      const sent = contents.flatMap(({ parts }) => parts);
      const why = objection(contents, sent);
      if (why !== undefined) faults.push(`${path}: ${why}`);
    } catch (thrown) {
      faults.push(`${path}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    }
  }
  return faults;
}
