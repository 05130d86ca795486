import { AppError } from '../../core/error.ts';
import { sanitize } from '../../core/text/terminal.ts';
import type { RunFacts } from '../../engine/run.ts';
import { listModelChoices, readListing, tryParseTier } from '../../models/listing.ts';
import { ALIASES } from '../../models/table.ts';
import { BUILTIN_NAMES, findBuiltin, translateNames } from '../../tools/builtins.ts';
import { TOOL_SETS } from '../../tools/define.ts';
import { describeMode, findMode, setMode } from '../approval-modes.ts';
import { type Chat, changeRun } from '../chat.ts';
import type { Candidate, LineSource } from '../line/source.ts';
import { findVerifyObstacle } from '../turn.ts';
import type { SlashCommand } from './command.ts';

type PickFromList = NonNullable<LineSource['pick']>;

export const MODEL: SlashCommand = {
  name: 'model',
  argument: '[name]',
  help: 'Choose the model, or switch to the one named',
  complete: (chat) => [...listModelCandidates(chat), ...listAliasCandidates(chat)],
  async run(argument, chat) {
    const { pick } = chat.lines;
    const wanted = argument === '' && pick !== undefined ? await pickModel(chat, pick) : argument;
    if (wanted === undefined) return;
    if (wanted !== '') await changeRun(chat, { model: { model: wanted } });
    const { model } = chat.run.facts.agent.request;
    if (wanted !== '') await chat.view.say(`The model is ${sanitize(model)} now.`);
    else {
      await chat.view.say(`The model is ${sanitize(model)}.\nOthers, with /model <name>:`);
      await chat.view.list(listModelCandidates(chat).map(({ insert, hint }) => [sanitize(insert), hint]));
    }
  },
};

export function listModelCandidates({ run, app }: Chat): readonly (Candidate & { readonly hint: string })[] {
  const { backend, billedTo, account, tier } = run.facts.model;
  const owner = { backend, account: account(), tier: tryParseTier(tier()) };
  const choices = listModelChoices(owner, billedTo === 'demo' ? undefined : readListing(app));
  return choices.map(({ name, about }) => ({ insert: name, hint: about }));
}

function listAliasCandidates({ run }: Chat): readonly Candidate[] {
  return Object.entries(ALIASES).map(([insert, ids]) => ({ insert, hint: ids[run.facts.model.backend] }));
}

async function pickModel(chat: Chat, pick: PickFromList): Promise<string | undefined> {
  const candidates = listModelCandidates(chat);
  const current = candidates.findIndex(({ insert }) => insert === chat.run.facts.agent.request.model);
  return (await pick({ title: 'model', candidates, chosen: Math.max(0, current) }))?.insert;
}

export const SYSTEM: SlashCommand = {
  name: 'system',
  argument: '[text]',
  help: 'Show the system instruction, or set it; - drops yours',
  async run(argument, chat) {
    if (argument !== '') {
      await changeRun(chat, { instruction: argument === '-' ? { systemText: undefined } : { system: argument } });
    }
    const parts = chat.run.facts.agent.request.systemInstruction?.parts ?? [];
    const text = parts.map((part) => ('text' in part ? part.text : '')).join('');
    await (text === '' ? chat.view.say('There is no system instruction.') : chat.view.sayVerbatim(text));
  },
};

export const THOUGHTS: SlashCommand = {
  name: 'thoughts',
  argument: '[on|off]',
  help: 'Show what the model thinks, or not',
  complete: () => ['on', 'off'].map((insert) => ({ insert })),
  async run(argument, chat) {
    if (argument !== '') await changeRun(chat, { model: { showThoughts: parseOnOff(argument, 'thoughts') } });
    await chat.view.say(`Thoughts are ${chat.run.facts.setup.model.showThoughts ? 'shown' : 'not shown'}.`);
  },
};

export const TOOLS: SlashCommand = {
  name: 'tools',
  argument: '[read|edit|all|name on|off]',
  help: 'Show the tools, choose a set of them, or turn one on or off',
  complete: ({ run }) => [
    ...TOOL_SETS.map((set) => ({ insert: set, hint: `the tools of --tools ${set}` })),
    ...listToolChoices(run.facts).map(({ name, isOn, about }) => {
      const turned = isOn ? 'off' : 'on';
      return { insert: `${name} ${turned}`, hint: `turn it ${turned}: ${about}` };
    }),
  ],
  async run(argument, chat) {
    const { run, lines } = chat;
    if (argument === 'none' || TOOL_SETS.some((set) => set === argument)) {
      await changeRun(chat, { tools: { tools: argument, namedTools: undefined } });
    } else if (argument !== '') {
      const [word = '', turned = ''] = argument.split(/\s+/);
      const isKnown = listToolChoices(run.facts).some(({ name: known }) => known === word);
      const [name = word] = isKnown ? [word] : translateNames([word]);
      await turnTool(chat, name, parseOnOff(turned, `tools ${word}`));
    } else if (lines.pick !== undefined && !(await pickTools(chat, lines.pick))) return;
    await chat.view.list(
      listToolChoices(run.facts).map(({ name, isOn, about }) => [`${isOn ? 'on ' : 'off'} ${name}`, about]),
    );
  },
};

interface ToolChoice {
  readonly name: string;
  readonly isOn: boolean;
  readonly about: string;
}

const SERVICE_TOOLS = ['search', 'code', 'url'] as const;

const SERVICE_ABOUT: Readonly<Record<(typeof SERVICE_TOOLS)[number], string>> = {
  search: 'the service searches the web',
  code: 'the service runs Python',
  url: 'the service reads the pages you name',
};

function listToolChoices({ tools, setup }: RunFacts): readonly ToolChoice[] {
  return [
    ...BUILTIN_NAMES.map((name) => ({ name, isOn: tools.includes(name), about: findBuiltin(name)?.about ?? '' })),
    ...SERVICE_TOOLS.map((name) => ({ name, isOn: setup.tools[name] === true, about: SERVICE_ABOUT[name] })),
  ];
}

async function turnTool(chat: Chat, name: string, isOn: boolean): Promise<void> {
  const service = SERVICE_TOOLS.find((tool) => tool === name);
  if (service !== undefined) return changeRun(chat, { tools: { [service]: isOn } });
  const others = chat.run.facts.tools.filter((tool) => tool !== name);
  const tools = (isOn ? [...others, name] : others).join(',') || 'none';
  await changeRun(chat, { tools: { tools, namedTools: undefined } });
}

async function pickTools(chat: Chat, pick: PickFromList): Promise<boolean> {
  const { run } = chat;
  let last: string | undefined;
  for (;;) {
    const choices = listToolChoices(run.facts);
    const candidates = choices.map(({ name, isOn, about }) => {
      return { insert: name, label: `${isOn ? 'on ' : 'off'} ${name}`, hint: about };
    });
    const chosen = last === undefined ? 0 : choices.findIndex(({ name }) => name === last);
    const taken = await pick({ title: 'tools, Enter turns one on or off', candidates, chosen });
    if (taken === undefined) return last !== undefined;
    last = taken.insert;
    await turnTool(chat, last, !choices.find(({ name }) => name === taken.insert)?.isOn);
  }
}

export const VERIFY: SlashCommand = {
  name: 'verify',
  argument: '[command|off]',
  help: 'Run a command when the model says it is done, and send it the output if that fails; off turns this off',
  complete: () => [{ insert: 'off' }],
  async run(argument, chat) {
    const obstacle = findVerifyObstacle(chat.run);
    if (argument !== '' && argument !== 'off' && obstacle !== undefined) {
      throw new AppError('usage', `/verify means nothing ${obstacle}`, {
        hint: obstacle.startsWith('in plan') ? 'First: /approve auto_edit' : 'First: /tools edit_file on',
      });
    }
    if (argument !== '') chat.verify = argument === 'off' ? undefined : argument;
    const { verify } = chat;
    await chat.view.say(
      verify === undefined ? 'No command is run after a turn.' : `Run after each turn: ${sanitize(verify)}`,
    );
  },
};

export const APPROVE: SlashCommand = {
  name: 'approve',
  argument: '[mode]',
  help: 'Show which tool calls ask first, or change it: default, auto_edit, plan',
  complete: ({ modes, run }) => modes.map((mode) => ({ insert: mode, hint: describeMode(mode, run) })),
  async run(argument, chat) {
    const mode = findMode(chat.run);
    if (argument !== '') return setMode(chat, argument);
    const others = chat.modes.filter((each) => each !== mode);
    await chat.view.say(`${mode}: ${describeMode(mode, chat.run)}\nTo change it: /approve ${others.join(' or ')}`);
  },
};

function parseOnOff(word: string, command: string): boolean {
  if (word === 'on' || word === 'off') return word === 'on';
  throw new AppError('usage', `say on or off: /${sanitize(command)} on`, { hint: `Example: /${sanitize(command)} on` });
}
