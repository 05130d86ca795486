import type { ProgramStart } from '../../core/confine.ts';
import { isStandalone } from '../runtime/system.ts';
import type { SandboxProfile } from './profile.ts';

/** What programs read to find a proxy, in both cases of letters. */
const PROXY_VARIABLES = ['http_proxy', 'https_proxy', 'all_proxy'].flatMap((name) => [name, name.toUpperCase()]);
const OTHER_VARIABLES = {
  ...{ no_proxy: 'localhost,127.0.0.1,::1', NO_PROXY: 'localhost,127.0.0.1,::1' },
  NODE_USE_ENV_PROXY: '1',
};

export function proxyVariables(port: number): Readonly<Record<string, string>> {
  const url = `http://127.0.0.1:${port}`;
  return { ...Object.fromEntries(PROXY_VARIABLES.map((name) => [name, url])), ...OTHER_VARIABLES };
}

/**
 * Runs inside a sandbox whose network is its own: listens on its loopback, passes every connection on to a unix socket, and runs the command
 * with the variables that name it as a proxy. A text, because no file of gmn need be visible there. Words: the socket, the command.
 */
const SOURCE = `
const { connect, createServer } = require('node:net');
const { spawn } = require('node:child_process');
const { constants } = require('node:os');
const [socket, command, ...args] = process.argv.slice(1);
const relay = createServer({ allowHalfOpen: true }, (inside) => {
  const outside = connect({ path: socket, allowHalfOpen: true });
  for (const [one, other] of [[inside, outside], [outside, inside]]) one.on('error', () => other.destroy()).pipe(other);
});
relay.listen(0, '127.0.0.1', () => {
  const proxy = 'http://127.0.0.1:' + relay.address().port;
  const env = { ...process.env, ...${JSON.stringify(OTHER_VARIABLES)}, BUN_BE_BUN: undefined };
  for (const name of ${JSON.stringify(PROXY_VARIABLES)}) env[name] = proxy;
  const child = spawn(command, args, { stdio: 'inherit', env });
  child.on('error', ({ message }) => { console.error(message); process.exit(127); });
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
});
for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(name, () => {});
`;

/** The words that come before a command. */
function listRelayWords(socket: string): readonly string[] {
  const words = [process.execPath, '-e', SOURCE, '--', socket];
  // The executable runs a script of its own, unless this variable says that it is the runtime.
  return isStandalone() ? ['/usr/bin/env', 'BUN_BE_BUN=1', ...words] : words;
}

/** The program as it is started inside: by the relay, if that is how it reaches the network. */
export function addRelay({ network }: SandboxProfile, start: ProgramStart): ProgramStart {
  if (network.kind !== 'proxy') return start;
  const [command = '', ...args] = listRelayWords(network.socket);
  return { ...start, command, args: [...args, start.command, ...start.args] };
}
