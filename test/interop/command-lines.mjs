import { join } from 'node:path';
import { cleanEnv, runNode } from './processes.mjs';

const PROMPT = 'Hello';
const ANSWER = 'Hello! How can I help you today?';

/**
 * gmn in the place of `gemini` under a program that wraps it as a tool: its two command lines, and its reading of what
 * comes back: `response` is the text, `session_id` the session, a failure is an exit code other than 0 with words on stderr.
 */
export async function commandLines({ gmn, scratch, url, cwd }) {
  const home = join(scratch, 'key');
  const env = cleanEnv(home, { GEMINI_API_KEY: 'x', GOOGLE_GEMINI_BASE_URL: url });
  const gemini = (...args) => runNode([gmn, '--output-dialect', 'gemini', ...args], { cwd, env });
  const chat = await gemini(PROMPT, '--output-format', 'json', '-m', 'gemini-3-flash');
  const started = toolResult(chat);
  const rows = [row('gemini "<prompt>" --output-format json -m <model>', chat, started.content[0].text === ANSWER)];
  const reply = await gemini('-r', 'latest', PROMPT, '--output-format', 'json');
  const what = 'gemini -r <session> "<prompt>" --output-format json';
  // Until gmn keeps sessions the line is refused before anything is sent; that is open, not broken.
  const isOpen = reply.exitCode !== 0 && started._meta === undefined;
  const again = row(what, reply, toolResult(reply).content[0].text === ANSWER);
  return [...rows, isOpen ? { ...again, isOpen, detail: 'gmn keeps no sessions yet' } : again];
}

function row(what, { exitCode, out, errors }, ok) {
  const detail = ok ? '' : `${out}\n${errors}`.trim().slice(-600);
  return { client: 'gmn as gemini', mode: 'api key', what, ok: ok && exitCode === 0, exitCode, detail };
}

function toolResult({ exitCode, out, errors }) {
  if (exitCode !== 0) {
    return {
      content: [{ type: 'text', text: `Error executing gemini: exit ${exitCode}\nStderr: ${errors}` }],
      isError: true,
    };
  }
  const { response, session_id: sessionId } = JSON.parse(out);
  return {
    content: [{ type: 'text', text: response }],
    ...(sessionId === undefined ? {} : { _meta: { sessionId } }),
  };
}
