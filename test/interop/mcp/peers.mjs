// The servers of other people: programs out of the cache, and those that are served at an address.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cleanEnv } from '../processes.mjs';

const READY_MS = 60_000;

/** Starts what has an address, and gives the settings of all. `stop` ends what was started. */
export async function openPeers({ cache, scratch, work }) {
  const bin = (name) => join(cache, 'node_modules', '.bin', name);
  const started = [];
  const serve = async (program, args, envOf) => {
    const port = await freePort();
    const env = { ...cleanEnv(scratch), ...envOf(String(port)) };
    const child = spawn(bin(program), args, { env, cwd: work, stdio: ['ignore', 'ignore', 'ignore'] });
    started.push(child);
    await untilOpen(port, child);
    return port;
  };
  const everything = (kind) => serve('mcp-server-everything', [kind], (PORT) => ({ PORT }));
  const [http, sse, git] = await Promise.all([
    everything('streamableHttp'),
    everything('sse'),
    serve('git-mcp-server', [], (MCP_HTTP_PORT) => ({
      MCP_TRANSPORT_TYPE: 'http',
      MCP_HTTP_HOST: '127.0.0.1',
      MCP_HTTP_PORT,
    })),
  ]);
  return {
    mcpServers: {
      everything: { command: bin('mcp-server-everything'), args: ['stdio'] },
      http: { url: `http://127.0.0.1:${http}/mcp` },
      sse: { url: `http://127.0.0.1:${sse}/sse` },
      files: { command: bin('mcp-server-filesystem'), args: [work] },
      memory: { command: bin('mcp-server-memory'), env: { MEMORY_FILE_PATH: join(scratch, 'memory.jsonl') } },
      commands: { command: bin('mcp-server-commands') },
      git: { command: bin('git-mcp-server') },
      githttp: { httpUrl: `http://127.0.0.1:${git}/mcp` },
    },
    commandsProgram: bin('mcp-server-commands'),
    /** What gmn started and did not end: programs out of the cache, less those that were started here. */
    leftovers: () => leftovers(cache, new Set(started.map(({ pid }) => String(pid)))),
    stop() {
      for (const child of started) child.kill('SIGKILL');
    },
  };
}

/** A port that was free a moment ago: these servers take a number and no other word. */
function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

async function untilOpen(port, child) {
  for (const end = Date.now() + READY_MS; Date.now() < end; await sleep(50)) {
    if (child.exitCode !== null) throw new Error(`a server ended with ${child.exitCode}`);
    const isOpen = await new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
      socket.on('close', () => resolve(false)).on('connect', () => socket.destroy());
    });
    if (isOpen) return;
  }
  throw new Error(`nothing answers on port ${port}`);
}

function leftovers(cache, ours) {
  const numbers = (() => {
    try {
      return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && !ours.has(name));
    } catch {
      return [];
    }
  })();
  return numbers.filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(cache);
    } catch {
      return false;
    }
  });
}
