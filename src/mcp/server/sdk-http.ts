import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';

export const sdkHttp = { createMcpHandler, isLegacyRequest, WebStandardStreamableHTTPServerTransport };

export type SdkHttp = typeof sdkHttp;
export type SdkHttpTransport = WebStandardStreamableHTTPServerTransport;
