import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';

/** What the HTTP server uses of the MCP SDK, besides `sdk`. */
export const sdkHttp = { createMcpHandler, isLegacyRequest, WebStandardStreamableHTTPServerTransport };

export type SdkHttp = typeof sdkHttp;
export type SdkHttpTransport = WebStandardStreamableHTTPServerTransport;
