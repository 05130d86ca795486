import {
  type CallToolResult,
  createMcpHandler,
  isLegacyRequest,
  type JSONRPCMessage,
  ProtocolError,
  Server,
  type ServerContext,
  type Tool,
  type Transport,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

/** What gmn uses of the MCP SDK. */
export const sdk = {
  createMcpHandler,
  isLegacyRequest,
  ProtocolError,
  Server,
  serveStdio,
  WebStandardStreamableHTTPServerTransport,
};

export type Sdk = typeof sdk;
export type SdkServer = Server;
export type SdkContext = ServerContext;
export type SdkTransport = Transport;
export type SdkTool = Tool;
export type SdkCallResult = CallToolResult;
export type SdkMessage = JSONRPCMessage;
export type SdkHttpTransport = WebStandardStreamableHTTPServerTransport;
