import type { SavedSession } from '../../src/core/session.ts';
import { answer, call, prompt, reply, sessionOf } from './samples.ts';

export function longSession(turns: number): SavedSession {
  const records = Array.from({ length: turns }, (_, index) => {
    const number = String(index).padStart(6, '0');
    return [
      prompt(`Question ${number}: what is in the file?`),
      call({ functionCall: { id: 'read_file-1', name: 'read_file', args: { file_path: `${number}.txt` } } }),
      answer('read_file', { output: `line ${number}\n`.repeat(40) }),
      reply(`It holds **${number}**:\n\n\`\`\`js\nconst number = ${number};\n\`\`\`\n\n- one\n- two`),
    ];
  });
  return sessionOf(records.flat(), { title: `${turns} turns` });
}
