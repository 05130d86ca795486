import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { installPeers } from '../../test/peers/install.mjs';

/** The compiler for this machine, which is the runtime as well; installed first if need be. Throws if there is none. */
export function compiler() {
  const system = { linux: 'linux', darwin: 'darwin', win32: 'windows' }[process.platform];
  const machine = { x64: 'x64', arm64: 'aarch64' }[process.arch];
  const name = process.platform === 'win32' ? 'bun.exe' : 'bun';
  const packages = installPeers('compiler');
  const found = join(packages, 'node_modules', '@oven', `bun-${system}-${machine}`, 'bin', name);
  if (!existsSync(found)) throw new Error(`there is no compiler for ${process.platform} on ${process.arch}`);
  return found;
}
