import { serverTool } from '../tool.ts';
import { CHAT_ARGUMENTS, chatFailure, chatTurn } from './chat-turn.ts';

/** Begins a session. */
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
  input: { properties: CHAT_ARGUMENTS, required: ['prompt'] },
  fail: chatFailure,
  run: async (args, call) => chatTurn(args, call, undefined),
});
