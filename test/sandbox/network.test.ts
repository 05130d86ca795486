import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ENGINE, GMN, hasProgram, PLACE, runProgram } from './scene.ts';

const SERVER = `for (const port of [80, 443, 8080])
  require('http').createServer((_, answer) => answer.end('hello from ' + port)).listen(port, '0.0.0.0');`;

/** Names, and what `curl` is told beside the address; `-p` makes a tunnel. */
const ATTEMPTS = {
  allowed: 'http://allowed.test/',
  'allowed, by a tunnel': '-p http://allowed.test:443/',
  'allowed, written in another way': 'http://ALLOWED.test.:80/',
  'another port': 'http://allowed.test:8080/',
  'another port, by a tunnel': '-p http://allowed.test:8080/',
  'another name of the same machine': 'http://other.test/',
  'a name below it': 'http://a.allowed.test/',
  'its address': 'http://93.184.216.34/',
  'its address, in one number': 'http://1572395042/',
  'a private address of an allowed name': 'http://private.test/',
  'the loopback by an allowed name': '-p http://here.test:80/',
  'an allowed name as a password': 'http://allowed.test@other.test/',
  'an allowed name in the header': "-H 'Host: allowed.test' http://other.test/",
  'without the proxy': "--noproxy '*' http://93.184.216.34/",
};

/**
 * A network of our own, in which addresses of the open internet lead back to this machine, with a file of names: so gmn reaches a host
 * as it reaches any other, and nothing leaves the machine.
 */
const SCRIPT = `set -e
ip link set lo up
ip route add local 93.184.216.0/24 dev lo
ip route add local 10.20.30.0/24 dev lo
mount --make-rprivate /
mount --bind "$PLACE/hosts" /etc/hosts
"$NODE" -e "$SERVER" & server=$!
trap 'kill $server' EXIT
curl -s --retry 50 --retry-connrefused --retry-delay 1 -o /dev/null http://other.test/
sh "$PLACE/attempts"
echo confined
"$NODE" "$GMN" sandbox --engine "$ENGINE" --net allowed.test,private.test,here.test -- sh ./attempts`;

test('of the open internet exactly the named hosts are reached, by exactly their ports', async (t) => {
  for (const program of ['curl', 'ip', 'unshare']) if (!hasProgram(program)) t.skip(`there is no ${program}`);
  const hosts =
    '93.184.216.34 allowed.test allowed.test. other.test a.allowed.test\n10.20.30.40 private.test\n127.0.0.1 here.test\n';
  writeFileSync(join(PLACE, 'hosts'), hosts);
  const curl = Object.values(ATTEMPTS).map(
    (words) => `curl -s -m 20 -o /dev/null -w '%{http_connect} %{http_code}\\n' ${words} || :`,
  );
  for (const directory of [PLACE, join(PLACE, 'work')]) writeFileSync(join(directory, 'attempts'), curl.join('\n'));
  const env = { PATH: `${process.env.PATH}:/usr/sbin:/sbin`, HOME: join(PLACE, 'home'), TMPDIR: join(PLACE, 'tmp') };
  const { status, output } = await runProgram('unshare', ['-rmn', 'sh', '-c', SCRIPT], {
    env: { ...env, PLACE, GMN, ENGINE, SERVER, NODE: process.execPath },
  });
  if (!output.includes('confined\n')) t.skip(`such a network cannot be made here: ${output.slice(0, 200)}`);
  expect(status, output).toBe(0);
  const [bare = [], confined = []] = output.split('confined\n').map((part) => part.trim().split('\n'));
  const toTable = (lines: readonly string[]) =>
    Object.fromEntries(Object.keys(ATTEMPTS).map((name, at) => [name, lines[at]]));
  // Without the sandbox every one of them is reached.
  expect(toTable(bare)).toEqual(Object.fromEntries(Object.keys(ATTEMPTS).map((name) => [name, '000 200'])));
  expect(toTable(confined)).toEqual({
    ...Object.fromEntries(Object.keys(ATTEMPTS).map((name) => [name, '000 403'])),
    ...{ allowed: '000 200', 'allowed, by a tunnel': '200 200', 'allowed, written in another way': '000 200' },
    ...{ 'another port, by a tunnel': '403 000', 'the loopback by an allowed name': '403 000' },
    'without the proxy': '000 000',
  });
});
