import type { App } from '../../core/app.ts';
import { createEngineContext, findWantedEngine } from '../../engine/tools/sandbox/sandbox.ts';
import { realPath } from '../../platform/files/path.ts';
import { chooseEngine, listAutoEngines, tryEngine } from '../../platform/sandbox/engine.ts';
import { absentFinding, type Finding, okFinding } from './finding.ts';

/** Which sandbox `--sandbox` would use. Throws AppError if the settings ask for one that does not work. */
export async function checkSandbox(app: App): Promise<readonly Finding[]> {
  // Without the cache: nothing is written, and what is said was seen now.
  const context = { ...createEngineContext(app, [realPath(app.cwd) ?? app.cwd]), cache: undefined };
  const wanted = await findWantedEngine({}, app);
  if (wanted !== undefined) {
    const { name, program } = await chooseEngine(wanted, context);
    return [okFinding('sandbox', `${name}, ${program}; the settings turn it on`)];
  }
  const reasons: string[] = [];
  for (const name of listAutoEngines()) {
    const attempt = await tryEngine(name, context);
    if ('engine' in attempt) return [okFinding('sandbox', `${name}, ${attempt.engine.program}; --sandbox turns it on`)];
    reasons.push(`${name}: ${attempt.why}`);
  }
  const why = reasons.length === 0 ? 'none for this system' : `none works (${reasons.join('; ')})`;
  return [absentFinding('sandbox', `${why}: --sandbox needs bubblewrap`)];
}
