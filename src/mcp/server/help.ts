import type { Host } from './host.ts';

/** Hosts show this to their model, so it says when to use this server. */
export function formatInstructions({ roots }: Pick<Host, 'roots'>): string {
  const files =
    roots.list.length === 0
      ? 'Gemini sees no files here: put what it needs into the prompt.'
      : 'Gemini reads files of the working directory by itself.';
  return (
    'Gemini through gmn. Use delegate (or chat) to hand over a self-contained task or to get a second opinion: say ' +
    `everything that matters, the other side knows nothing of your conversation. ${files} For anything that may take ` +
    'longer than a minute call delegate with mode async, then delegate_status with wait_ms. generate_text is one plain ' +
    'model call without files.'
  );
}

export function formatHelp({ name, version, tools, roots, allowed }: Host): string {
  const list = tools.map((tool) => `- ${tool.name}: ${tool.description}`).join('\n');
  const where =
    roots.list.length === 0 ? 'none: Gemini sees no files (start with --root <dir>)' : roots.list.join(', ');
  return `# ${name} ${version}

Tools:
${list}

Roots: ${where}
Writing files: ${allowed.write ? 'allowed' : 'not allowed (start with --allow-write)'}
Running commands: ${allowed.shell ? 'allowed' : 'not allowed (start with --allow-shell)'}

- What the model tried and was not allowed to do is listed in the answer.
- An @ in a prompt is text${roots.list.length === 0 ? '' : '; files are read by the model itself, inside the working directory'}.
- Answers over 40,000 characters continue in the resource that _meta.next names.
- A call that takes long reports progress and can be cancelled; delegate ends at timeout_ms.
- Jobs are kept for a week. After a restart, a job that was running has failed (code INTERRUPTED) and keeps the output it had.
- Sessions are those of gmn: gmn chat -r <session_id> continues one.
`;
}
