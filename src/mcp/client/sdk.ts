import {
  Client,
  type ClientOptions,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  ProtocolError,
  RegistrationRejectedError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  SseError,
  StreamableHTTPClientTransport,
  type Transport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';

export const sdk = {
  Client,
  ProtocolError,
  RegistrationRejectedError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  SseError,
  StreamableHTTPClientTransport,
  UnauthorizedError,
};

export type Sdk = typeof sdk;
export type SdkClient = Client;
export type SdkClientOptions = ClientOptions;
export type SdkTransport = Transport;
export type SdkAuthProvider = OAuthClientProvider;
export type SdkDiscovery = OAuthDiscoveryState;
