import { sessionToReplyIn } from '../sessions.ts';
import { serverTool } from '../tool.ts';
import { CHAT_ARGUMENTS, chatFailure, chatTurn } from './chat-turn.ts';

/** Goes on with a session. */
export const chatReply = serverTool({
  name: 'chat-reply',
  title: 'Reply in a chat with Gemini',
  description:
    'Continue a conversation with Gemini. Without sessionId: the newest of this server, else of the working directory.',
  annotations: 'agent',
  input: {
    properties: {
      prompt: CHAT_ARGUMENTS.prompt,
      sessionId: {
        type: 'string',
        description: 'The id of the session to continue, whole; the newest if it is not given, or "latest".',
      },
      model: CHAT_ARGUMENTS.model,
      systemPrompt: CHAT_ARGUMENTS.systemPrompt,
      cwd: CHAT_ARGUMENTS.cwd,
    },
    required: ['prompt'],
  },
  fail: chatFailure,
  async run(args, call) {
    const { sessionId, ...rest } = args;
    return chatTurn(rest, call, await sessionToReplyIn(call.host, sessionId, args.cwd));
  },
});
