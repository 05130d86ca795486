import type { OutputOptions } from '../../app/output.ts';
import type { OutputFormat } from '../../core/app.ts';
import type { AgentOptions } from '../../engine/agent.ts';
import type { SessionOptions } from '../../engine/conversation.ts';
import type { ModelOptions } from '../../engine/model.ts';
import type { AnswerFormatOptions } from '../../engine/output-schema.ts';
import type { RosterOptions } from '../../engine/servers/roster.ts';
import type { VerifyOptions } from '../../engine/verify.ts';
import type { PictureChoice } from '../../render/picture.ts';
import type { AttachmentOptions, ComposeOptions } from './compose.ts';

export interface PromptOptions
  extends ModelOptions,
    AgentOptions,
    RosterOptions,
    SessionOptions,
    AnswerFormatOptions,
    VerifyOptions,
    OutputOptions,
    ComposeOptions,
    AttachmentOptions {
  readonly args: readonly string[];
  readonly isBare?: boolean;
  /** gmn replaces the official CLI: `--output-dialect gemini` was typed. */
  readonly isOfficial?: boolean;
  /** `gmn image`: an answer without a picture is a failure. */
  readonly isPicture?: boolean;
  readonly prompt?: string;
  readonly promptInteractive?: string;
  readonly outputFormat?: OutputFormat;
  readonly outputDialect?: 'gmn' | 'gemini';
  readonly file?: readonly string[];
  readonly stdin?: boolean;
  readonly noStdin?: boolean;
  readonly noAt?: boolean;
  readonly timeout?: number;
  readonly quiet?: boolean;
  readonly render?: 'auto' | 'always' | 'never';
  readonly noRender?: boolean;
  readonly rawOutput?: boolean;
  readonly screenReader?: boolean;
  readonly pictures?: PictureChoice;
  readonly usage?: boolean;
  /** In dollars. */
  readonly maxCost?: number;
  readonly countTokens?: boolean;
  readonly dryRun?: boolean;
  readonly listSessions?: boolean;
  readonly deleteSession?: string;
}
