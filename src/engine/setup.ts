import type { AnswerSetup } from './answer/setup.ts';
import type { InstructionSetup } from './instruction/setup.ts';
import type { LimitSetup } from './limits/setup.ts';
import type { ModelSetup } from './model/setup.ts';
import type { SessionSetup } from './session/setup.ts';
import type { ToolSetup } from './tools/setup.ts';

/** What a run is to be, one group for each of its parts. What is absent comes from the settings, or is the default. */
export interface RunSetup {
  readonly model: ModelSetup;
  readonly tools: ToolSetup;
  readonly instruction: InstructionSetup;
  readonly limits: LimitSetup;
  readonly answer: AnswerSetup;
  readonly session: SessionSetup;
}

/** What may be different in the next turn. */
export type RunPatch = { readonly [Group in 'model' | 'tools' | 'instruction']?: Partial<RunSetup[Group]> };
