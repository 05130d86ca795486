import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';

/** What serving over http uses besides. */
export const sdkHttp = { createMcpHandler, isLegacyRequest, WebStandardStreamableHTTPServerTransport };

export type SdkHttp = typeof sdkHttp;
export type SdkHttpTransport = WebStandardStreamableHTTPServerTransport;
