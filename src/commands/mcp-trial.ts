import { AppError } from '../core/error.ts';
import type { Connection, Listing, RemotePrompt, RemoteResource, RemoteTool } from '../mcp/client/connection.ts';
import { textOfBlock } from './mcp-content.ts';
import { sampleArguments } from './mcp-sample.ts';
import { firstLine } from './mcp-view.ts';

/** One thing that was tried, and what went wrong, in words for the person. */
export interface Trial {
  readonly what: string;
  readonly error?: string;
}

interface Offers {
  readonly tools: Listing<RemoteTool>;
  readonly prompts: Listing<RemotePrompt>;
  readonly resources: Listing<RemoteResource>;
}

/**
 * Calls every tool with sample arguments, gets every prompt, reads every resource, one after the other. A failure is
 * data; throws the signal's reason only.
 */
export async function tryEverything(
  connection: Connection,
  offers: Offers,
  signal: AbortSignal,
): Promise<readonly Trial[]> {
  const trials: Trial[] = [];
  const attempt = async (what: string, work: () => Promise<string | undefined>): Promise<void> => {
    const error = await work().catch((thrown: unknown) => AppError.from(thrown).words);
    signal.throwIfAborted();
    trials.push({ what, ...(error === undefined ? {} : { error: firstLine(error, 300) }) });
  };
  for (const { name, inputSchema } of offers.tools.items) {
    await attempt(`tool ${name}`, async () => {
      const { isError, content } = await connection.callTool(name, sampleArguments(inputSchema), { signal });
      return isError ? content.flatMap((block) => textOfBlock(block) ?? []).join(' ') : undefined;
    });
  }
  for (const { name, arguments: taken } of offers.prompts.items) {
    await attempt(`prompt ${name}`, async () => {
      await connection.getPrompt(name, Object.fromEntries(taken.map((argument) => [argument.name, 'test'])), {
        signal,
      });
      return undefined;
    });
  }
  for (const { uri } of offers.resources.items) {
    await attempt(`resource ${uri}`, async () => {
      await connection.readResource(uri, { signal });
      return undefined;
    });
  }
  return trials;
}
