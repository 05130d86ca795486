import { createGuest } from '../platform/app.ts';
import { createAskFunction } from './ask.ts';
import { createBatchFunction } from './batch.ts';
import { createChatFunction } from './chat.ts';
import { GmnError } from './error.ts';
import type * as Public from './gmn.d.ts';
import { createDecideFunction, createEmbedFunction } from './single.ts';
import { defineOwnTool } from './tool.ts';

/** What `import … from "gmn"` gives. All that its functions share is a pool of connections. */
export function createLibrary(version: string): typeof Public {
  const guest = createGuest(version);
  // Programs catch it, and have nothing to make one of.
  const error = GmnError as unknown as typeof Public.GmnError;
  return {
    ask: createAskFunction(guest),
    chat: createChatFunction(guest),
    batch: createBatchFunction(guest),
    embed: createEmbedFunction(guest),
    decide: createDecideFunction(guest),
    defineTool: defineOwnTool,
    GmnError: error,
  };
}
