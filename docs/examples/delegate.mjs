#!/usr/bin/env node
// Delegates a task over MCP, as an agent would: node delegate.mjs "your task" [flags of gmn mcp serve]
// No library is needed: the protocol is one JSON message a line.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const [prompt = 'Hello', ...flags] = process.argv.slice(2);
const server = spawn('gmn', ['mcp', 'serve', ...flags], { stdio: ['pipe', 'pipe', 'inherit'] });
const waiting = new Map();
let last = 0;

const send = (message) => server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const ask = (method, params) =>
  new Promise((resolve, reject) => {
    last += 1;
    waiting.set(last, { resolve, reject });
    send({ id: last, method, params });
  });

createInterface({ input: server.stdout }).on('line', (line) => {
  const { id, result, error, method, params } = JSON.parse(line);
  if (method === 'notifications/progress') console.error(`… ${params.message ?? params.progress}`);
  const question = waiting.get(id);
  waiting.delete(id);
  if (error !== undefined) question?.reject(new Error(error.message));
  else question?.resolve(result);
});

await ask('initialize', {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'example', version: '1' },
});
send({ method: 'notifications/initialized' });
const { content, structuredContent, isError } = await ask('tools/call', {
  name: 'delegate',
  arguments: { prompt },
});
console.log(content.map(({ text }) => text).join('\n'));
console.error(isError ? structuredContent.code : `${structuredContent.status} by ${structuredContent.model_used}`);
process.exitCode = isError ? 1 : 0;
server.stdin.end();
