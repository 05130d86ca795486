// Uploads of large files: `npm run bench -- --only=files`. The server is the offline model, in a process of its own.
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { closeSync, createReadStream, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { gmn, openPlace, ranWithUsage } from './processes.mjs';
import { verdict } from './verdicts.mjs';

const MB = 1024 * 1024;
const CHUNK = 8 * MB;
const MAX_MEMORY = 100;

/** A file that is cut ten times on its way, the same again, and one whose first upload is killed. */
export async function benchFiles({ isQuick }) {
  const place = openPlace('files');
  const size = (isQuick ? 100 : 1000) * MB;
  const server = await serveDemo(place, 'upload-cut=3000000x10');
  try {
    const env = place.env(server.url, { GMN_RETRY_DELAY: '10ms' });
    const ask = (name) => ({ args: [gmn, '-f', name, 'what is it?'], cwd: place.directory, env });
    const hash = await writeFilm(join(place.directory, 'film.mp4'), size, 1);
    const first = await ranWithUsage(ask('film.mp4'));
    await server.check(hash);
    server.takeUploads();
    const second = await ranWithUsage(ask('film.mp4'));
    const repeated = server.takeUploads();

    const otherHash = await writeFilm(join(place.directory, 'other.mp4'), size, 2);
    const half = Math.floor(size / CHUNK / 2);
    await server.killAfter(half, ask('other.mp4'));
    server.takeUploads();
    const resumed = await ranWithUsage(ask('other.mp4'));
    await server.check(otherHash);
    const rest = server.takeUploads();

    const rows = [
      { work: 'upload, cut ten times', MB: size / MB, ms: first.ms, 'MB of memory': first.rssMb },
      { work: 'the same file again', MB: size / MB, ms: second.ms, 'MB of memory': second.rssMb, requests: repeated },
      { work: 'after kill -9 half way', MB: size / MB, ms: resumed.ms, 'MB of memory': resumed.rssMb, requests: rest },
    ];
    console.table(rows);
    const name = isQuick ? '100 MB' : '1 GB';
    return {
      rows,
      verdicts: [
        verdict({
          work: `an upload of ${name} that is cut ten times`,
          measured: first.rssMb,
          budget: MAX_MEMORY,
          unit: 'MB',
        }),
        verdict({ work: `${name} once more: requests that upload`, measured: repeated, budget: 0, unit: 'requests' }),
        verdict({
          work: `${name} after kill -9 half way: requests that upload`,
          measured: rest,
          budget: half + 4,
          unit: 'requests',
        }),
      ],
    };
  } finally {
    server.close();
    place.remove();
  }
}

async function writeFilm(path, size, seed) {
  const block = randomBytes(MB);
  block.write('\0\0\0\x20ftypisom', 0, 'latin1');
  const file = openSync(path, 'w');
  for (let written = 0; written < size; written += MB) {
    block.writeUInt32LE(written / MB, 100);
    block.writeUInt32LE(seed, 104);
    writeSync(file, block);
  }
  closeSync(file);
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest('hex');
}

async function serveDemo({ directory }, fault) {
  const child = spawn(process.execPath, [gmn, 'demo', 'serve', '--fault', fault], {
    cwd: directory,
    env: { PATH: process.env.PATH, HOME: directory },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let uploads = 0;
  let onUpload = () => {};
  child.stderr.on('data', (data) => {
    for (const line of String(data).split('\n')) {
      if (!line.includes(' /upload/')) continue;
      uploads += 1;
      onUpload();
    }
  });
  const url = await new Promise((resolve, reject) => {
    child.on('exit', () => reject(new Error('the offline model ended')));
    child.stdout.once('data', (data) => resolve(String(data).split('\n')[0]));
  });
  return {
    url,
    /** Requests for uploads since the last call. */
    takeUploads() {
      const taken = uploads;
      uploads = 0;
      return taken;
    },
    /** Throws unless the service has this content. */
    async check(hash) {
      const answer = await fetch(`${url}/v1beta/files`, { headers: { 'x-goog-api-key': 'bench-key' } });
      const { files = [] } = await answer.json();
      const kept = files.map(({ sha256Hash }) => Buffer.from(sha256Hash, 'base64').toString());
      if (!kept.includes(hash)) throw new Error('the file did not arrive whole');
    },
    /** Runs gmn, and kills it after so many requests for uploads. */
    async killAfter(count, command) {
      const running = spawn(process.execPath, command.args, { ...command, stdio: 'ignore' });
      onUpload = () => uploads >= count && running.kill('SIGKILL');
      await new Promise((resolve) => running.on('close', resolve));
      onUpload = () => {};
    },
    close: () => child.kill('SIGTERM'),
  };
}
