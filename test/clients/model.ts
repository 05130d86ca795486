import { createHash } from 'node:crypto';
import { call, chunk, endless, failure, fakeGemini, reply, type Scripted, stream } from '../support/gemini.ts';

/** An answer that fills the pipe to a reader that has stopped many times over. */
const SLOW = Array.from({ length: 256 }, (_, index) => `${index} `.padEnd(8191, 'x').concat('\n'));

/**
 * The model for turns.py, on 127.0.0.1. The first word of a prompt says what it does, and after a tool call it repeats what it was told.
 * `close` throws if a request was one that the API would refuse.
 */
export async function startModel() {
  const closers: (() => Promise<void> | void)[] = [];
  const keep = { onTestFinished: (close: unknown) => void closers.push(close as () => void) };
  const gemini = await fakeGemini(keep, (response, request) => {
    // Each holds all of the conversation, with megabytes for a slow reader.
    (gemini.requests as unknown[]).length = 0;
    return answer(response, request);
  });
  return {
    url: gemini.url,
    async close(): Promise<void> {
      for (const close of closers) await close();
    },
  };
}

const answer: Scripted = (response, request) => {
  // After a cancelled call, its result comes before the next prompt.
  if (request.parts.at(-1)?.functionResponse)
    return reply(`told ${JSON.stringify(request.results)}`)(response, request);
  const [word = '', number = ''] = request.prompt.split(' ');
  const write = (name: string): object =>
    call('write_file', { file_path: `${name}-${number}.txt`, content: `model ${number}\n` });
  const answers: Record<string, () => Scripted> = {
    ...{ yes: () => reply(write('yes')), no: () => reply(write('no')), asked: () => reply(write('asked')) },
    ...{ change: () => reply(write('change')), again: () => reply(write('again')) },
    pair: () => reply(write('pair-yes'), write('pair-no')),
    // It says who it is, so that it can be cancelled while it runs, and looked for afterwards.
    tool: () => reply(call('run_shell_command', { command: `echo $$ > pipe; sleep 1000; echo ${number}` })),
    stream: () => stream(`half ${number}`),
    waiting: () => stream(),
    flood: () => endless(chunk([{ text: 'line\n'.repeat(20) }])),
    refuse: () => failure(400, 'INVALID_ARGUMENT', 'not like this'),
    slow: () => reply(...SLOW),
    repeat: () => reply(request.prompt),
    recall: () => reply(JSON.stringify(request.body.contents.map(summarise))),
  };
  return (answers[word] ?? (() => reply(`answer ${number}`)))()(response, request);
};

/** What a model was sent, short enough to be compared from turn to turn. */
function summarise({ role, parts }: { readonly role: string; readonly parts: readonly { readonly text?: string }[] }) {
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);
  return [role, parts.findLast(({ text }) => text !== undefined)?.text?.slice(0, 40) ?? '', hash];
}
