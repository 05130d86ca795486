import type { OutputOptions } from '../../app/output.ts';
import type { RunFlags } from '../../app/run-setup.ts';
import type { App, OutputFormat } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { checkEffects } from '../../core/flag.ts';
import type { VerifyOptions } from '../../engine/answer/verify.ts';
import { hasTools, type SessionOptions } from '../../engine/session/conversation.ts';
import type { PictureChoice } from '../../render/picture.ts';
import type { AttachmentOptions, ComposeOptions } from './compose.ts';

export interface PromptOptions
  extends RunFlags,
    SessionOptions,
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
  readonly inputFormat?: 'text' | 'stream-json';
  readonly relayApprovals?: boolean;
  readonly outputDialect?: 'gmn' | 'gemini';
  readonly file?: readonly string[];
  readonly stdin?: boolean;
  readonly noStdin?: boolean;
  readonly noAt?: boolean;
  readonly quiet?: boolean;
  readonly render?: 'auto' | 'always' | 'never';
  readonly noRender?: boolean;
  readonly rawOutput?: boolean;
  readonly screenReader?: boolean;
  readonly pictures?: PictureChoice;
  readonly usage?: boolean;
  readonly countTokens?: boolean;
  readonly listSessions?: boolean;
  readonly acp?: boolean;
  readonly deleteSession?: string;
}

/** `codex -c model=…`: as the first word of a prompt nobody means it. */
const CODEX_SETTING =
  /^(?:model(?:_\w+)?|approval_policy|sandbox_\w+|(?:features|tools|mcp_servers|shell_environment_policy)\.[\w.-]+)=/;

/** Notices about typed flags without effect; throws AppError `usage`. See `checkEffects`. */
export function checkPromptFlags(options: PromptOptions, { typedFlags = [] }: App): readonly string[] {
  const { prompt, args, template, verify } = options;
  if (options.continue && CODEX_SETTING.test(args[0] ?? '')) {
    throw new AppError('usage', `-c continues a session here, and takes no setting such as ${args[0]}`, {
      hint: 'Settings of one run are flags: -m, --thinking-level, --approval-mode (gmn help flags).',
    });
  }
  // A slash may begin the name of a template, which may run commands.
  const hasTemplate = template !== undefined || (prompt ?? args[0])?.startsWith('/') === true;
  return checkEffects(
    typedFlags,
    { ...options },
    {
      tools: { isMet: hasTools(options), add: 'those the model may use, e.g. --tools edit' },
      template: { isMet: hasTemplate, add: '--template <name>' },
      '--verify': { isMet: verify !== undefined, add: '--verify "<command>"' },
      '--input-format stream-json': { isMet: false, add: '--input-format stream-json -o stream-json' },
    },
  );
}

/**
 * Interprets flags as the official CLI does if `--output-dialect gemini` was typed: `--yolo` offers all tools, since
 * that CLI always offers them, and `-r` alone is the latest session. Set by a variable, the dialect only changes names in the output.
 */
export function applyOfficialMeaning(options: PromptOptions, { typedFlags = [] }: App): PromptOptions {
  const { outputDialect, resume, tools, yolo, approvalMode, search, code, url } = options;
  const isTyped = typedFlags.some(({ long }) => long === 'output-dialect');
  if (outputDialect !== 'gemini' || !isTyped) return options;
  const isYolo = (yolo || approvalMode === 'yolo') && tools === undefined && !search && !code && !url;
  return {
    ...options,
    isOfficial: true,
    tools: isYolo ? 'all' : tools,
    resume: resume === '' ? 'latest' : resume,
  };
}
