import type { ThinkingLevel } from '../core/model.ts';
import { LEVEL_BUDGETS } from './generation.ts';
import { assumeModelFacts } from './table.ts';

/** How much a model thinks: by level or by budget, as it takes it; neither: as it decides itself. */
export interface ThinkingSetup {
  readonly thinkingLevel?: ThinkingLevel | undefined;
  /** In tokens. */
  readonly thinkingBudget?: number | undefined;
}

export interface ThinkingChoice {
  readonly name: string;
  /** Both fields are there, so that it replaces what was chosen before. */
  readonly setup: ThinkingSetup;
}

const AS_USUAL: ThinkingChoice = toChoice('default', {});

const { minimal: _, ...PROPER } = LEVEL_BUDGETS;
const BUDGETS = { off: 0, ...PROPER } as const;

/** What a person can choose for this model; `inForce` is always among them. The first leaves it to the model. */
export function listThinkingChoices(model: string, inForce: ThinkingSetup): readonly ThinkingChoice[] {
  const { levels = [], budget } = assumeModelFacts(model) ?? {};
  const isTaken = (tokens: number): boolean =>
    budget !== undefined &&
    ((tokens >= budget.min && tokens <= budget.max) || (tokens === 0 && budget.canBeOff === true));
  const budgets = levels.length > 0 ? [] : Object.entries(BUDGETS).filter(([, tokens]) => isTaken(tokens));
  const choices = [
    AS_USUAL,
    ...levels.map((thinkingLevel) => toChoice(thinkingLevel, { thinkingLevel })),
    ...budgets.map(([name, thinkingBudget]) => toChoice(name, { thinkingBudget })),
  ];
  if (findThinkingChoice(choices, inForce) !== undefined) return choices;
  const { thinkingLevel, thinkingBudget } = inForce;
  return [...choices, toChoice(thinkingLevel ?? `${thinkingBudget} tokens`, inForce)];
}

export function findThinkingChoice(choices: readonly ThinkingChoice[], inForce: ThinkingSetup) {
  const { thinkingLevel, thinkingBudget } = inForce;
  return choices.find(({ setup }) => setup.thinkingLevel === thinkingLevel && setup.thinkingBudget === thinkingBudget);
}

function toChoice(name: string, { thinkingLevel, thinkingBudget }: ThinkingSetup): ThinkingChoice {
  return { name, setup: { thinkingLevel, thinkingBudget } };
}
