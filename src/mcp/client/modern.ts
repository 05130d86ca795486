import type { JsonObject } from '../../core/json.ts';
import { readItems } from './pages.ts';
import { parseTool } from './parse.ts';
import type { Sdk, SdkClient } from './sdk.ts';
import type { Connection, Listing, RemoteTool, RequestOptions } from './types.ts';

type SdkOptions = NonNullable<Parameters<SdkClient['callTool']>[1]>;

/** Asks through one of the SDK's own methods; see `asker`. */
export type AskSdk = <Value>(
  what: string,
  options: RequestOptions,
  run: (settings: SdkOptions) => Promise<Value>,
) => Promise<Value>;

/**
 * Tools over Streamable HTTP since 2026-07-28: some arguments are repeated in headers, as the tool's schema declares, and a tool
 * that declares them wrongly must not be used. The SDK sees to both, in its own methods.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports
 */
export function modernTools(client: SdkClient, sdk: Sdk, ask: AskSdk, plain: Pick<Connection, 'listTools'>) {
  const known = new Map<string, RemoteTool>();
  const listTools = async (options: RequestOptions = {}): Promise<Listing<RemoteTool>> => {
    try {
      const { tools } = await ask('tools/list', options, (settings) =>
        client.listTools(undefined, { ...settings, cacheMode: 'refresh' }),
      );
      return readItems(tools, { key: 'tools', parse: parseTool });
    } catch (thrown) {
      // One odd tool, or too many pages, cost the SDK all of them.
      if (!isPicky(thrown, sdk)) throw thrown;
      return plain.listTools(options);
    }
  };
  return {
    async listTools(options?: RequestOptions): Promise<Listing<RemoteTool>> {
      const listing = await listTools(options);
      for (const tool of listing.items) known.set(tool.name, tool);
      return listing;
    },
    /** The raw result. Of a tool that was not listed, the SDK learns what it declares from the server's refusal. */
    call(name: string, args: JsonObject, settings: SdkOptions): Promise<unknown> {
      const tool = known.get(name);
      const definition = tool === undefined ? {} : { toolDefinition: parseSdkTool(tool) };
      return client.callTool({ name, arguments: { ...args } }, { ...settings, ...definition });
    },
  };
}

function isPicky(thrown: unknown, { SdkError, SdkErrorCode }: Sdk): boolean {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  return (
    cause instanceof SdkError &&
    (cause.code === SdkErrorCode.InvalidResult || cause.code === SdkErrorCode.ListPaginationExceeded)
  );
}

/** Without the schema of its result: gmn takes that as it comes. */
function parseSdkTool({ name, inputSchema }: RemoteTool): NonNullable<SdkOptions['toolDefinition']> {
  return { name, inputSchema } as unknown as NonNullable<SdkOptions['toolDefinition']>;
}
