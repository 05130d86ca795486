import type * as acp from '@agentclientprotocol/sdk';
import { agent, RequestError } from '@agentclientprotocol/sdk';

/** The agent's side of the protocol. */
export const sdk = { agent, RequestError };

export type Sdk = typeof sdk;

export type AgentApp = acp.AgentApp;
export type AgentContext = acp.AgentContext;
export type AuthMethod = acp.AuthMethod;
export type AvailableCommand = acp.AvailableCommand;
export type ClientCapabilities = acp.ClientCapabilities;
export type ContentBlock = acp.ContentBlock;
export type CreateElicitationRequest = acp.CreateElicitationRequest;
export type ElicitationAcceptAction = acp.ElicitationAcceptAction;
export type InitializeResponse = acp.InitializeResponse;
export type McpServer = acp.McpServer;
export type NewSessionRequest = acp.NewSessionRequest;
export type PermissionOptionKind = acp.PermissionOptionKind;
export type PlanEntry = acp.PlanEntry;
export type RequestPermissionRequest = acp.RequestPermissionRequest;
export type RequestPermissionResponse = acp.RequestPermissionResponse;
export type SessionConfigOption = acp.SessionConfigOption;
export type SessionInfo = acp.SessionInfo;
export type SessionModeState = acp.SessionModeState;
export type SessionUpdate = acp.SessionUpdate;
export type StopReason = acp.StopReason;
export type Stream = acp.Stream;
export type ToolCall = acp.ToolCall;
export type ToolCallContent = acp.ToolCallContent;
export type ToolCallLocation = acp.ToolCallLocation;
export type ToolCallUpdate = acp.ToolCallUpdate;
export type ToolKind = acp.ToolKind;
