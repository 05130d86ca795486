// Other versions of Node, from test/peers/nodes.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { installPeers } from '../peers/install.mjs';

/**
 * The programs of the wanted major versions, as `{ name, program }`; this Node's own is the one that runs the bench.
 * What cannot be had here is told to `skip`.
 */
export function nodeVersions(majors, skip) {
  const [own] = process.versions.node.split('.');
  const here = { name: `node ${own}`, program: process.execPath };
  const others = majors.filter((major) => major !== own);
  if (others.length === 0) return [here];
  try {
    const cache = installPeers('nodes');
    const found = others.map((major) => ({
      name: `node ${major}`,
      program: join(cache, 'node_modules', `node-${major}`, 'bin', 'node'),
    }));
    for (const { name, program } of found) if (!existsSync(program)) skip(`${name} (no package for this system)`);
    return [here, ...found.filter(({ program }) => existsSync(program))];
  } catch (thrown) {
    skip(`node ${others.join(', ')} (${thrown.message})`);
    return [here];
  }
}
