import { changeMode, describeMode, findMode } from '../chat/approval-modes.ts';
import { type Chat, changeRun } from '../chat/chat.ts';
import { listModelCandidates } from '../chat/commands/settings.ts';
import { AppError } from '../core/error.ts';
import { findThinkingChoice, listThinkingChoices, type ThinkingChoice } from '../models/thinking.ts';
import type { SessionConfigOption, SessionModeState } from './sdk.ts';

/** What a person chooses in the editor's menus. Some clients read the modes, others the options: both say the same. */
export interface SessionChoices {
  readonly modes: SessionModeState;
  readonly configOptions: SessionConfigOption[];
}

export function describeChoices(chat: Chat): SessionChoices {
  const mode = findMode(chat.run);
  const modes = chat.modes.map((id) => ({ id, name: toLabel(id), description: describeMode(id, chat.run) }));
  const { model } = chat.run.facts.agent.request;
  const models = listModelCandidates(chat).map(({ insert: value, hint }) => ({
    value,
    name: value,
    description: hint,
  }));
  const thinking = listThinking(chat);
  return {
    modes: { currentModeId: mode, availableModes: modes },
    configOptions: [
      {
        ...{ type: 'select', id: 'mode', name: 'Mode', category: 'mode', currentValue: mode },
        description: 'Which tool calls ask first',
        options: modes.map(({ id, name, description }) => ({ value: id, name, description })),
      },
      {
        ...{ type: 'select', id: 'model', name: 'Model', category: 'model', currentValue: model },
        options: models.some(({ value }) => value === model) ? models : [{ value: model, name: model }, ...models],
      },
      {
        ...{ type: 'select', id: 'thinking', name: 'Thinking', category: 'thought_level' },
        currentValue: findThinkingChoice(thinking, chat.run.facts.setup.model)?.name ?? '',
        options: thinking.map(({ name }) => ({ value: name, name })),
      },
    ],
  };
}

function toLabel(id: string): string {
  return `${id.slice(0, 1).toUpperCase()}${id.slice(1).replace('_', ' ')}`;
}

function listThinking({ run: { facts } }: Chat): readonly ThinkingChoice[] {
  return listThinkingChoices(facts.agent.request.model, facts.setup.model);
}

/** Throws AppError `usage` for what is not offered; then nothing changes. */
export async function chooseOption(chat: Chat, option: string, value: unknown): Promise<void> {
  if (typeof value !== 'string' || value === '') throw notOfferedError(option, value);
  if (option === 'mode') return void (await changeMode(chat, value));
  if (option === 'model') return chooseModel(chat, value);
  if (option !== 'thinking') {
    throw new AppError('usage', `there is no option "${option.slice(0, 100)}"`, {
      hint: 'There are mode, model and thinking.',
    });
  }
  const chosen = listThinking(chat).find(({ name }) => name === value);
  if (chosen === undefined) throw notOfferedError(option, value);
  await changeRun(chat, { model: chosen.setup });
}

/** The new model may not think as the last one was told to. */
async function chooseModel(chat: Chat, model: string): Promise<void> {
  const [asUsual, ...choices] = listThinking(chat);
  const before = findThinkingChoice(choices, chat.run.facts.setup.model)?.name;
  await changeRun(chat, { model: { ...asUsual?.setup, model } });
  const same = listThinking(chat).find(({ name }) => name === before);
  if (same !== undefined) await changeRun(chat, { model: same.setup });
}

function notOfferedError(option: string, value: unknown): AppError {
  return new AppError('usage', `${option} cannot be ${JSON.stringify(value)?.slice(0, 100)}`, {
    hint: 'Choose one of those that the session offers.',
  });
}
