// probe.cjs <output>: shows each limit of ../limits.mjs by itself, without gmn. Writes JSON: limit → what was seen, or null if it is not there.
const { execFileSync, spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const { createServer, Socket } = require('node:net');
const { join } = require('node:path');

const system = join(process.env.SystemRoot ?? 'C:\\windows', 'system32');
const cmd = join(system, 'cmd.exe');
const place = fs.mkdtempSync('C:\\temp\\probe-');
const at = (name) => join(place, name);

const PROBES = {
  links() {
    fs.mkdirSync(at('there'));
    const kinds = ['file', 'dir', 'junction'].map((kind) => {
      try {
        fs.symlinkSync(at('there'), at(kind), kind);
        return fs.lstatSync(at(kind), { throwIfNoEntry: false })?.isSymbolicLink()
          ? 'works'
          : `${kind}: no error, and nothing`;
      } catch ({ code }) {
        return `${kind}: ${code}`;
      }
    });
    return kinds.includes('works') ? null : `symlinkSync gives ${kinds.join('; ')}`;
  },
  async console() {
    const pty = require('C:\\gmn\\node_modules\\@lydell\\node-pty');
    try {
      const terminal = pty.spawn(cmd, ['/c', 'echo shown'], { cols: 80, rows: 24 });
      let output = '';
      terminal.onData((data) => (output += data));
      await Promise.race([new Promise((resolve) => terminal.onExit(resolve)), wait(5000)]);
      return output.includes('shown')
        ? null
        : `a program on a pseudoconsole shows ${JSON.stringify(output.slice(0, 80))}`;
    } catch (thrown) {
      return `a pseudoconsole cannot be made: ${thrown.message}`;
    }
  },
  cmd() {
    fs.writeFileSync(at('planted.bat'), '@echo planted\r\n');
    const env = { ...process.env, NoDefaultCurrentDirectoryInExePath: '1' };
    const { stdout } = spawnSync(cmd, ['/d', '/c', 'planted'], { cwd: place, env, encoding: 'utf8' });
    return stdout.includes('planted')
      ? 'cmd runs planted.bat of its directory with NoDefaultCurrentDirectoryInExePath=1'
      : null;
  },
  start() {
    return fs.existsSync(join(system, 'start.exe'))
      ? 'there is a start.exe, which ends before what it has started'
      : null;
  },
  percent() {
    fs.writeFileSync(at('show.bat'), '@echo %*\r\n');
    const options = { encoding: 'utf8', windowsVerbatimArguments: true, cwd: place };
    const { stdout } = spawnSync(cmd, ['/d', '/s', '/c', '".\\show.bat %%cd:~,%OS%%cd:~,%"'], options);
    return stdout.trim() === '%OS%' ? null : `a batch file that is given %OS% prints ${stdout.trim()} for %*`;
  },
  drives() {
    return fs.existsSync('Z:\\usr\\bin') ? 'Z:\\usr\\bin is there' : null;
  },
  async append() {
    const write = `const fd = require('fs').openSync(${JSON.stringify(at('lines'))}, 'a'); for (let i = 0; i < 500; i++) require('fs').writeSync(fd, 'x'.repeat(50) + '\\n')`;
    const writers = Array.from({ length: 8 }, () => spawn(process.execPath, ['-e', write], { stdio: 'ignore' }));
    await Promise.all(writers.map((child) => once(child, 'exit')));
    const lines = fs.readFileSync(at('lines'), 'utf8').split('\n').length - 1;
    return lines === 4000 ? null : `of 4000 lines that eight processes append, ${lines} are there`;
  },
  async keepAlive() {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = new Socket().connect(server.address().port, '127.0.0.1').setKeepAlive(true, 1000);
    const outcome = await Promise.race([
      once(socket, 'connect').then(
        () => null,
        (thrown) => thrown.code,
      ),
      wait(5000),
    ]);
    socket.destroy();
    server.close();
    return outcome === null ? null : `connecting a socket with keep-alive: ${outcome ?? 'nothing happens'}`;
  },
  async sockets() {
    const server = createServer((socket) =>
      socket.once('data', () => socket.write('y', () => socket.resetAndDestroy())),
    ).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = new Socket().connect(server.address().port, '127.0.0.1');
    socket.resume().write('x');
    const outcome = await Promise.race([
      once(socket, 'end').then(
        () => 'end',
        (thrown) => thrown.code,
      ),
      wait(5000),
    ]);
    socket.destroy();
    server.close();
    return outcome === 'ECONNRESET' ? null : `a connection that is reset: ${outcome ?? 'nothing'}, not ECONNRESET`;
  },
  async killed() {
    const ends = [];
    // Not each time: it is the moment that counts.
    for (let round = 0; round < 8 && !ends.includes('nothing'); round += 1)
      ends.push(...(await Promise.all(Array.from({ length: 4 }, endOfKilled))));
    const silent = ends.filter((end) => end === 'nothing').length;
    return silent === 0 ? null : `of ${ends.length} processes killed while they send, ${silent} stayed connected`;
  },
  speed() {
    fs.writeFileSync(at('file'), '');
    const begin = process.hrtime.bigint();
    for (let count = 0; count < 1000; count += 1) fs.closeSync(fs.openSync(at('file'), 'r'));
    const micros = Number((process.hrtime.bigint() - begin) / 1_000_000n);
    return micros < 50 ? null : `opening a file takes ${micros} µs`;
  },
  powershell() {
    const file = join(system, 'WindowsPowerShell', 'v1.0', 'powershell.exe');
    if (!fs.existsSync(file)) return 'there is none';
    const output = execFileSync(file, ['-NoProfile', '-Command', '1+1'], { encoding: 'utf8' });
    return output.trim() === '2' ? null : `1+1 prints ${JSON.stringify(output)}`;
  },
};

/** How a server notices that a process was killed while it was sending. */
async function endOfKilled() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const send = `const socket = require('net').connect(${server.address().port}, '127.0.0.1').on('error', () => {}).on('data', () => {});
    const write = () => setImmediate(() => socket.write(Buffer.alloc(65536), write)); socket.on('connect', write);`;
  const child = spawn(process.execPath, ['-e', send], { stdio: 'ignore' });
  const exit = once(child, 'exit');
  const [socket] = await once(server, 'connection');
  let bytes = 0;
  socket.on('data', ({ length }) => {
    bytes += length;
    if (bytes > 8_000_000) child.kill('SIGKILL');
  });
  const ended = once(socket, 'end').catch(() => {});
  await exit;
  const outcome = await Promise.race([ended.then(() => 'end'), wait(3000).then(() => 'nothing')]);
  socket.destroy();
  server.close();
  return outcome;
}

function wait(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

void (async () => {
  const seen = {};
  for (const [limit, probe] of Object.entries(PROBES)) {
    try {
      seen[limit] = await probe();
    } catch (thrown) {
      seen[limit] = `the probe failed: ${thrown.message}`;
    }
  }
  fs.writeFileSync(process.argv[2], JSON.stringify(seen));
  process.exit();
})();
