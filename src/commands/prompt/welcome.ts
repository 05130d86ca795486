import { chooseCredential } from '../../auth/credential.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { sanitize } from '../../core/text/terminal.ts';

export async function formatWelcome(app: App): Promise<string> {
  return `gmn ${app.version}: Gemini in your shell
${await formatCredentialStatus(app)}

  gmn "why is the sky blue?"             one prompt, one answer
  git diff | gmn "review this change"    stdin goes before the prompt
  gmn -f notes.md "summarise"            files, images, PDF, directories
  gmn chat                               a conversation; its tools ask first
  gmn --demo "hello"                     the offline model: no account needed

  gmn auth status    which credential is used
  gmn doctor         what is wrong, and how to fix it
  gmn demo           a tour of two minutes
  gmn -h             the flags used most, and the commands
`;
}

/** In one line. Never throws: invalid settings are shown as the status. */
async function formatCredentialStatus(app: App): Promise<string> {
  try {
    const { credential } = await chooseCredential({ ...app, settings: await app.settings(), isRehearsal: true });
    return `✓ Ready: ${credential.type}, from ${sanitize(credential.source)}`;
  } catch (thrown) {
    const error = AppError.from(thrown);
    return error.fault !== 'auth' || error.details.guide === undefined
      ? `✗ ${sanitize(error.shortMessage)}. What to do: gmn doctor`
      : '– No API key yet: https://aistudio.google.com/apikey, then: gmn auth set-key';
  }
}
