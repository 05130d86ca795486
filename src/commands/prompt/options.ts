import type { OutputOptions } from '../../app/output.ts';
import type { App, OutputFormat } from '../../core/app.ts';
import { checkEffects } from '../../core/flag.ts';
import type { AgentOptions } from '../../engine/agent.ts';
import { hasTools, type SessionOptions } from '../../engine/conversation.ts';
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

/** Notices about typed flags without effect; throws AppError `usage`. See `checkEffects`. */
export function checkPromptFlags(options: PromptOptions, { typedFlags = [] }: App): readonly string[] {
  const { prompt, args, template, verify } = options;
  // A slash may begin the name of a template, which may run commands.
  const hasTemplate = template !== undefined || (prompt ?? args[0])?.startsWith('/') === true;
  return checkEffects(
    typedFlags,
    { ...options },
    {
      tools: { isMet: hasTools(options), add: 'those the model may use, e.g. --tools edit' },
      template: { isMet: hasTemplate, add: '--template <name>' },
      '--verify': { isMet: verify !== undefined, add: '--verify "<command>"' },
    },
  );
}

/**
 * Interprets flags as the official CLI does if `--output-dialect gemini` was typed: `--yolo` offers all tools, since
 * that CLI always offers them. Set by a variable, the dialect only changes names in the output.
 */
export function applyOfficialMeaning(options: PromptOptions, { typedFlags = [] }: App): PromptOptions {
  const { outputDialect, tools, yolo, approvalMode, search, code, url } = options;
  const isTyped = typedFlags.some(({ long }) => long === 'output-dialect');
  if (outputDialect !== 'gemini' || !isTyped) return options;
  const isYolo = (yolo || approvalMode === 'yolo') && tools === undefined && !search && !code && !url;
  return { ...options, isOfficial: true, ...(isYolo && { tools: 'all' }) };
}
