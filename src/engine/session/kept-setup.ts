import { omitUndefined } from '../../core/json.ts';
import type { KeptSetup, Session } from '../../core/session.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { DEFAULT_NAME } from '../../models/choice.ts';
import { type BuiltInModel, findModelFacts, makesPictures } from '../../models/table.ts';
import type { InstructionSetup } from '../instruction/setup.ts';
import type { OpenedModel } from '../model/model.ts';
import type { ModelSetup } from '../model/setup.ts';
import type { RunSetup } from '../setup.ts';

interface NamedOptions {
  readonly model?: string;
  readonly builtIn?: BuiltInModel;
  readonly system?: string;
  readonly systemText?: string;
  readonly appendSystemPrompt?: string;
}

export type KeptOptions = Pick<ModelSetup, 'keptModel'> &
  Pick<InstructionSetup, 'system' | 'systemText' | 'appendText' | 'start'>;

/**
 * The model and the instruction of a conversation that goes on, where the caller names none. What is named comes first,
 * then what is kept, then the environment and the settings. Tools and approvals are not kept.
 */
export function chooseKept(
  named: NamedOptions,
  { model, system, systemText, appendText, start }: KeptSetup,
): KeptOptions {
  const hasSystem = named.system !== undefined || named.systemText !== undefined;
  const isKept = named.model === undefined && model !== undefined && !isOther(model, named.builtIn);
  const kept = omitUndefined({
    keptModel: isKept ? model : undefined,
    system: hasSystem ? undefined : system,
    systemText: hasSystem ? undefined : systemText,
    appendText: named.appendSystemPrompt === undefined ? appendText : undefined,
  });
  return { ...kept, start };
}

/** The setup with what its session keeps. */
export function applyKept(setup: RunSetup, kept: KeptSetup): RunSetup {
  const { model, instruction } = setup;
  const { keptModel = model.keptModel, ...texts } = chooseKept({ ...model, ...instruction }, kept);
  return { ...setup, model: { ...model, keptModel }, instruction: { ...instruction, ...texts } };
}

/** `gmn image` keeps only a model that makes pictures; its own default keeps its fallback. */
function isOther(model: string, builtIn: BuiltInModel | undefined): boolean {
  return builtIn !== undefined && (model === builtIn.id || !makesPictures(model));
}

/**
 * What to keep after a turn that asked like `asked`. What is named for one turn of a conversation that goes on holds for
 * that turn only; one in which nothing was answered yet begins with it.
 */
export function mergeSetup({ contents, setup }: Pick<Session, 'contents' | 'setup'>, asked: KeptSetup): KeptSetup {
  if (!contents.some(({ role }) => role === 'model')) return asked;
  return { ...setup, start: asked.start ?? setup.start };
}

/** The setup of a session to continue. The next turn after a picture most likely edits it. */
export function toKeptSetup({ setup }: Pick<Session, 'setup'>, { model = '' }: { readonly model?: string }): KeptSetup {
  return makesPictures(model) ? { ...setup, model } : setup;
}

/** Says which model a conversation that goes on asks, unless that is gmn's default and no setting names another. */
export function describeAsked(
  { modelId, askedName, backend }: Pick<OpenedModel, 'modelId' | 'askedName' | 'backend'>,
  { model: kept }: KeptSetup,
  named: NamedOptions,
  setting: string | undefined,
): readonly string[] {
  if (kept === undefined || isOther(kept, named.builtIn)) return [];
  if (named.model !== undefined) {
    if (askedName === kept) return [];
    return [`asking ${sanitize(modelId)} this time; the session keeps ${describeName(kept)}`];
  }
  if (askedName === DEFAULT_NAME && setting === undefined) return [];
  const isKnown = findModelFacts(modelId)?.backends.includes(backend) ?? true;
  const doubt = isKnown ? '' : `, which the backend ${backend} may not have`;
  return [`asking ${sanitize(modelId)}, as before in this session${doubt}; -m asks another`];
}

function describeName(name: string): string {
  return name === DEFAULT_NAME ? "gmn's default" : sanitize(name);
}
