import { AppError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import type { Todo, ToolResult } from '../core/tool.ts';
import { defineTool } from './define.ts';

const MAX_TODOS = 100;
const STATUSES: readonly Todo['status'][] = ['pending', 'in_progress', 'completed', 'cancelled'];

/** Every call has the whole list, so nothing is kept between calls. */
export const writeTodos = defineTool({
  name: 'write_todos',
  classNames: ['WriteTodosTool'],
  claudeNames: ['TodoWrite'],
  set: 'read',
  about: 'keeps the list of steps of a longer task',
  description:
    'Keeps the steps of a longer task, not of one or two steps, and shows them to the user. Give the whole list each ' +
    'time. Mark a step in_progress before you begin it, only one at a time, and completed when it is done.',
  effect: 'read',
  isPlan: true,
  input: {
    properties: {
      todos: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            description: { type: 'string' },
            status: { type: 'string', enum: ['pending', 'in_progress', 'completed', 'cancelled'] },
          },
          required: ['description', 'status'],
        },
      },
    },
    required: ['todos'],
  },
  handle: () => ({
    async run({ todos: given }): Promise<ToolResult> {
      if (given.length > MAX_TODOS) throw todoError(`there are ${given.length} todos`, `Give at most ${MAX_TODOS}.`);
      const todos = given.map(parseTodo);
      const running = todos.filter(({ status }) => status === 'in_progress').length;
      if (running > 1) throw todoError(`${running} todos are in_progress`, 'Only one may be; make the others pending.');
      const summary = summarize(todos);
      return { ok: true, response: { output: summary }, summary, todos };
    },
  }),
});

function parseTodo({ description, status }: JsonObject, index: number): Todo & JsonObject {
  const known = STATUSES.find((each) => each === status);
  if (typeof description !== 'string' || description.trim() === '') {
    throw todoError(`todos[${index}].description is missing`, 'Say in a few words what is to be done.');
  }
  if (known === undefined)
    throw todoError(`todos[${index}].status is wrong`, `It must be one of ${STATUSES.join(', ')}.`);
  return { description, status: known };
}

/** `2 of 5 done`; what was cancelled is not to be done. */
function summarize(todos: readonly Todo[]): string {
  const wanted = todos.filter(({ status }) => status !== 'cancelled');
  const done = wanted.filter(({ status }) => status === 'completed').length;
  return wanted.length === 0 ? 'nothing to do' : `${done} of ${wanted.length} done`;
}

function todoError(what: string, hint: string): AppError {
  return new AppError('usage', what, { hint });
}
