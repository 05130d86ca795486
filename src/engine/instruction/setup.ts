import type { SessionStart } from '../../core/session.ts';

/** What the model is told before the conversation. */
export interface InstructionSetup {
  readonly system?: string;
  readonly appendSystemPrompt?: string;
  /** Like the two above, but literal: a leading `@` does not name a file. */
  readonly systemText?: string;
  readonly appendText?: string;
  readonly noAgentPrompt?: boolean;
  /** Neither context files nor GEMINI_SYSTEM_MD are read, and there are no skills and sub-agents. */
  readonly noContext?: boolean;
  readonly start?: SessionStart;
  readonly isChat?: boolean;
}
