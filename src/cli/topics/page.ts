import type { Command } from '../flag.ts';
import type { Topic } from './names.ts';
export function topicPage(topic: Topic, _root: Command): string {
  return topic;
}
