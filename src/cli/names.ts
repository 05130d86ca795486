/** The pages of `gmn help <topic>`, each with what it is about. */
export const TOPICS = {
  auth: 'Which credential is used, and how to give gmn one',
  compat: 'Coming from the official Gemini CLI',
  env: 'Environment variables',
  'exit-codes': 'What the exit code says',
  keys: 'Keys of the chat',
  mcp: 'MCP servers: settings, trust, names',
  sessions: 'Saved conversations',
  'stream-json': 'The JSON formats, for scripts',
  tools: 'What the model may do, and what asks first',
} as const;

export type Topic = keyof typeof TOPICS;

/** Whether a word is the name of a page. */
export function isTopic(word: string): word is Topic {
  return Object.hasOwn(TOPICS, word);
}
