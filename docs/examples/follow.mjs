#!/usr/bin/env node
// Reads the events of a run as they come: node follow.mjs "your prompt"
// Text goes to stdout, tool calls and warnings to stderr; the exit code is gmn's own.
import { spawn } from 'node:child_process';

const gmn = spawn('gmn', ['-o', 'stream-json', '--', ...process.argv.slice(2)], {
  stdio: ['ignore', 'pipe', 'inherit'],
});

const show = {
  start: ({ model }) => console.error(`asking ${model}`),
  content: ({ text }) => process.stdout.write(text),
  tool_call: ({ name, args }) => console.error(`→ ${name} ${JSON.stringify(args)}`),
  tool_result: ({ name, isError }) => console.error(`← ${name}${isError ? ' failed' : ''}`),
  done: ({ usage, warnings = [] }) => {
    process.stdout.write('\n');
    for (const warning of warnings) console.error(`warning: ${warning}`);
    console.error(`${usage.totalTokenCount} tokens`);
  },
  error: ({ error }) => console.error(`${error.type}: ${error.message}\n${error.suggestion ?? ''}`),
};

// Lines end in \n and nothing else: an answer may hold any other separator.
let rest = '';
for await (const chunk of gmn.stdout.setEncoding('utf8')) {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop() ?? '';
  for (const line of lines) {
    const event = JSON.parse(line);
    // Kinds of events may be added; those that are not known are none of our business.
    show[event.type]?.(event);
  }
}
process.exitCode = gmn.exitCode ?? (await new Promise((resolve) => gmn.on('close', resolve)));
