import {
  Client,
  type ClientOptions,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';

/** What gmn uses of the MCP SDK. */
export const sdk = {
  Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  UnauthorizedError,
};

export type Sdk = typeof sdk;
export type SdkClient = Client;
export type SdkClientOptions = ClientOptions;
export type SdkTransport = Transport;
