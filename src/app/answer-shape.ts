import type { Agent, Turn } from '../agent/agent.ts';
import { runStructuredTurn, structuredAgent } from '../agent/structured.ts';
import { runTurn } from '../agent/turn.ts';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { TurnEvent } from '../core/event.ts';

export interface AnswerFormatOptions {
  readonly outputSchema?: string;
  readonly search?: boolean;
}

export type RunTurn = (agent: Agent, turn: Turn) => AsyncGenerator<TurnEvent, void>;

/** How a turn is run so that its answer has the requested format. */
export interface AnswerFormat {
  /** The agent with the format in its first request. Throws AppError `usage` if it does not support it. */
  agent(agent: Agent): Agent;
  readonly run: RunTurn;
}

/** Applies `--search` and `--output-schema`. Throws AppError `usage` if the schema is invalid. */
export async function openAnswerFormat(
  { outputSchema, search }: AnswerFormatOptions,
  { cwd }: App,
): Promise<AnswerFormat> {
  const addSearch = search ? withSearch : (agent: Agent): Agent => agent;
  if (outputSchema === undefined) return { agent: addSearch, run: runTurn };
  const { readSchema } = await import('./output-schema.ts');
  const wanted = await readSchema(outputSchema, cwd);
  return {
    agent: (agent) => structuredAgent(addSearch(agent), wanted),
    run: (agent, turn) => runStructuredTurn(agent, turn, wanted),
  };
}

function withSearch(agent: Agent): Agent {
  if (agent.tools.length === 0) return { ...agent, request: { ...agent.request, tools: [{ googleSearch: {} }] } };
  throw new AppError('usage', '--search cannot be combined with other tools', {
    hint: 'Give the model the search as a tool instead: --tools google_web_search, or --tools all',
  });
}
