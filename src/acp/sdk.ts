import { agent, RequestError } from '@agentclientprotocol/sdk';

export type * from '@agentclientprotocol/sdk';

/** The agent's side of the protocol, loaded when the first message has come. */
export const sdk = { agent, RequestError };

export type Sdk = typeof sdk;
