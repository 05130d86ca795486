import {
  type CallToolResult,
  type JSONRPCMessage,
  ProtocolError,
  Server,
  type ServerContext,
  type Tool,
  type Transport,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

export const sdk = { ProtocolError, Server, serveStdio };

export type Sdk = typeof sdk;
export type SdkServer = Server;
export type SdkContext = ServerContext;
export type SdkTransport = Transport;
export type SdkTool = Tool;
export type SdkCallResult = CallToolResult;
export type SdkMessage = JSONRPCMessage;
