import { environmentPage } from './environment.ts';
import { exitCodePage } from './exit-codes.ts';
import { columns } from './help.ts';
import { TOPICS, type Topic } from './names.ts';
import type { Command } from './table/command.ts';
import { TEXTS } from './topic-texts.ts';

/** The page of a topic, for a terminal; where a command has the same name, its commands are listed below. */
export function topicPage(topic: Topic, root: Command): string {
  const command = root.subcommands?.find(({ name }) => name === topic);
  return [`${TOPICS[topic]}\n`, bodyOf(topic, root), ...(command === undefined ? [] : [commandsOf(command)])].join(
    '\n',
  );
}

function bodyOf(topic: Topic, root: Command): string {
  if (topic === 'env') return environmentPage(root);
  return topic === 'exit-codes' ? exitCodePage() : TEXTS[topic];
}

function commandsOf({ name, subcommands = [] }: Command): string {
  const rows = subcommands.map((child) => [`gmn ${name} ${child.name}`, child.summary] as const);
  return `Commands (gmn ${name} <command> --help for their flags):\n${columns(rows)}`;
}
