import type { AppError } from '../../../core/error.ts';
import type { ArgumentsOf } from '../../../core/schema.ts';
import type { SessionSummary } from '../../../core/session.ts';
import { DEFAULT_MODEL } from '../../../models/table.ts';
import { formatFailure } from '../errors.ts';
import { requireReplySession, resolveDirectory } from '../sessions.ts';
import { type Call, type CallResult, checkModelName, serverTool } from '../tool.ts';
import { collectAnswer } from '../turn.ts';
import { plainResult } from './results.ts';

const PROPERTIES = {
  prompt: { type: 'string', description: 'What to say to Gemini.' },
  model: {
    type: 'string',
    description: "Model id or alias, e.g. flash or gemini-4-hydrogen; gmn's default if it is not given.",
  },
  systemPrompt: { type: 'string', description: 'How the assistant should behave.' },
  cwd: {
    type: 'string',
    description: 'Where Gemini looks at files: a directory inside a root of this server; the first root by default.',
  },
} as const;

const CHAT_INPUT = { properties: PROPERTIES, required: ['prompt'] } as const;

async function runChatTurn(
  { prompt, model, systemPrompt, cwd }: ArgumentsOf<typeof CHAT_INPUT>,
  { host, progress, signal }: Call,
  earlier: SessionSummary | undefined,
): Promise<CallResult> {
  checkModelName(model);
  const directory = resolveDirectory(host, cwd, earlier);
  const engine = await host.engine();
  const turn = {
    prompt: { role: 'user', parts: [{ text: prompt }] },
    model,
    systemText: systemPrompt,
    directory,
    storage: { kind: 'session', cwd: directory ?? host.startDirectory, earlier },
    signal,
  } as const;
  const answer = await host.queue.run(() => collectAnswer(engine, turn, { progress }), { signal, key: earlier?.id });
  const { sessionId } = answer;
  if (sessionId === undefined) return plainResult(host.pages, answer);
  host.ownSessions.add(sessionId);
  host.latest.sessionId = sessionId;
  // A conversation that goes on keeps its model, which this call did not name.
  const answered = earlier === undefined || answer.model === DEFAULT_MODEL ? undefined : answer.model;
  const result = plainResult(host.pages, { ...answer, meta: { sessionId, model: answered } });
  if (!host.showsSession) return result;
  return { ...result, content: [...result.content, { type: 'text', text: `sessionId: ${sessionId}` }] };
}

/** Callers know this wording from earlier servers. */
function chatFailure(error: AppError): CallResult {
  return { content: [{ type: 'text', text: `Error executing gemini: ${formatFailure(error)}` }], isError: true };
}

export const chat = serverTool({
  name: 'chat',
  title: 'Chat with Gemini',
  description:
    'Start a new conversation with Gemini, which can read the files of the working directory. ' +
    'The answer is text; _meta.sessionId continues it with chat-reply.',
  withoutRoots:
    'Start a new conversation with Gemini, which sees no files here: say everything in the prompt. ' +
    'The answer is text; _meta.sessionId continues it with chat-reply.',
  annotations: 'agent',
  input: CHAT_INPUT,
  elsewhere: { sessionId: 'It begins a conversation. To continue one: chat-reply, with this sessionId.' },
  fail: chatFailure,
  run: async (args, call) => runChatTurn(args, call, undefined),
});

export const chatReply = serverTool({
  name: 'chat-reply',
  title: 'Reply in a chat with Gemini',
  description:
    'Continue a conversation with Gemini, which keeps its model and system prompt; another one holds for this turn. ' +
    'Without sessionId: the newest of this server, else of the working directory.',
  annotations: 'agent',
  input: {
    properties: {
      prompt: PROPERTIES.prompt,
      sessionId: {
        type: 'string',
        description: 'The full id of the session to continue; the newest if it is not given, or "latest".',
      },
      model: {
        type: 'string',
        description: 'Model id or alias for this turn; that of the session if it is not given.',
      },
      systemPrompt: { type: 'string', description: 'How the assistant should behave in this turn.' },
      cwd: PROPERTIES.cwd,
    },
    required: ['prompt'],
  },
  fail: chatFailure,
  async run(args, call) {
    const { sessionId, ...rest } = args;
    return runChatTurn(rest, call, await requireReplySession(call.host, sessionId, args.cwd));
  },
});
