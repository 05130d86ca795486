import type { Agent } from '../../agent/agent.ts';
import type { BatchDecisionFlags } from '../../app/decision.ts';
import type { RunFlags } from '../../app/run-setup.ts';
import type { App } from '../../core/app.ts';
import type { Content } from '../../core/content.ts';
import { AppError } from '../../core/error.ts';
import { toNoticeEvent } from '../../core/event.ts';
import type { JsonObject } from '../../core/json.ts';
import type { ModelRequest } from '../../core/model.ts';
import type { Host } from '../../engine/host.ts';
import type { Budget } from '../../engine/limits/budget.ts';
import { chooseRetries, type OpenedModel } from '../../engine/model/model.ts';
import type { ModelSetup } from '../../engine/model/setup.ts';
import type { FileNeed } from '../../engine/model/uploads.ts';
import type { Run, RunFacts } from '../../engine/run.ts';
import type { RedactLines } from '../output/failed-file.ts';
import type { RunSettings } from '../output/run-file.ts';
import type { RowInput } from '../rows/row.ts';
import type { PendingRow, PreparedRow } from '../rows/row-engine.ts';
import type { BatchCosts } from './costs.ts';
import type { SharedPromptOptions } from './shared-prompt.ts';

/** The flags of a run that rows may have: there are no tools. */
type RowFlags = Omit<ModelSetup, 'keptModel' | 'followThoughts'> &
  Pick<RunFlags, 'timeout' | 'system' | 'appendSystemPrompt' | 'noContext' | 'outputSchema'>;

export interface BatchOptions extends RowFlags, BatchDecisionFlags, SharedPromptOptions {
  /** Like `system`, but literal: a leading `@` does not name a file. */
  readonly systemText?: string;
  /** Whether rows are asked with what the context files say; the library says `noContext` for the opposite. */
  readonly context?: boolean;
}

export interface SetupContext {
  readonly costs: BatchCosts;
  /** For all rows; absent if each job has its own. */
  readonly budget?: Budget;
  /** An urgent one is for now: it says what a person has to do. */
  readonly onNotice: (message: string, isUrgent?: boolean) => void;
}

/** What is needed to convert rows to requests, for any engine. */
export interface BatchSetup {
  readonly opened: OpenedModel;
  readonly retries: number;
  readonly schema: RunFacts['schema'];
  /** What the answers depend on besides the rows; see `RunFile`. */
  readonly settings: RunSettings;
  /** Whether every row needs a prompt of its own. */
  readonly isPromptNeeded: boolean;
  readonly redact: RedactLines;
  /** Throws AppError `usage` for a row that lacks a column, or has none in the prompt. */
  checkRow(input: RowInput): void;
  /** These throw AppError `usage` for a row that cannot be asked. */
  prepare(row: PendingRow): Promise<PreparedRow>;
  toRequest(row: PendingRow): Promise<RowRequest>;
  /** As it would be sent. Uploads nothing. */
  preview(row: PendingRow): Promise<RowPreview>;
  /** With the addresses of files that are uploaded for it. Throws AppError. */
  provide(request: RowRequest, need: FileNeed): Promise<ModelRequest>;
  close(): Promise<void>;
}

export interface RowRequest {
  readonly run: Run;
  readonly agent: Agent;
  readonly contents: readonly Content[];
}

interface RowPreview {
  readonly request: JsonObject;
  /** The files that would be uploaded for it. */
  readonly uploads: readonly string[];
}

const DEFAULT_RETRIES = 3;

/** How often a row is asked again: the engine does it, not the model, since what one row learns of the server holds for all. */
export async function chooseRowRetries(options: Pick<ModelSetup, 'retries'>, app: App): Promise<number> {
  return options.retries ?? chooseRetries(options, await app.settings()) ?? DEFAULT_RETRIES;
}

/** Rows have no tools, so there is nothing to ask. */
export function createBatchHost(onNotice: SetupContext['onNotice']): Host {
  return {
    notify(notice) {
      const event = toNoticeEvent(notice);
      if (event.type === 'notice') onNotice(event.message, event.isUrgent);
    },
    explainDenial: () => Promise.reject(new AppError('internal', 'a batch row has no tools')),
  };
}
