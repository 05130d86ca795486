import { readServerEnablement } from '../../config/server-enablement.ts';
import type { App, Settings } from '../../core/app.ts';
import { type ConfiguredServer, configuredServers } from '../../mcp/client/servers.ts';
import { programPath } from '../../platform/process/program-path.ts';
import { type Finding, type Remedy, shellWord } from './finding.ts';

/** The MCP servers of the settings: which entries are faulty, which programs are not there. Starts none. */
export function serverFindings(app: App, settings: Settings): readonly Finding[] {
  const { servers, faulty, disabled } = configuredServers({
    ...settings,
    isOfficiallyDisabled: readServerEnablement(app.homes().gemini).isDisabled,
  });
  if (servers.length + faulty.length + disabled.length === 0) {
    return [{ check: 'mcp', state: 'absent', text: 'no MCP servers' }];
  }
  return [
    ...servers.map((server) => serverFinding(server, app)),
    ...faulty.map(
      ({ name, why, file }): Finding => ({
        check: 'mcp',
        state: 'failure',
        fault: 'config',
        text: `${name}: ${why} (${file})`,
        remedies: [explain(name)],
      }),
    ),
    ...disabled.map(({ name, why }): Finding => ({ check: 'mcp', state: 'absent', text: `${name}: ${why}` })),
  ];
}

function serverFinding({ name, definition }: ConfiguredServer, { env, cwd }: App): Finding {
  // An address may hold a secret behind its host.
  if (definition.kind !== 'stdio') {
    return { check: 'mcp', state: 'ok', text: `${name}: ${new URL(definition.url).origin}` };
  }
  const { command } = definition;
  const path = { PATH: definition.env.PATH ?? env.PATH, Path: env.Path, PATHEXT: env.PATHEXT };
  if (programPath(command, path, definition.cwd ?? cwd) !== undefined) {
    return { check: 'mcp', state: 'ok', text: `${name}: ${command}` };
  }
  return {
    check: 'mcp',
    state: 'failure',
    fault: 'mcp',
    text: `${name}: there is no program ${command}`,
    remedies: [{ words: 'Install it, or mend its entry' }, explain(name)],
  };
}

function explain(name: string): Remedy {
  const key = /^[^."\\\s]+$/.test(name) ? name : `"${name.replace(/["\\]/g, '\\$&')}"`;
  return { words: 'To see the entry', command: `gmn config explain ${shellWord(`mcpServers.${key}`)}` };
}
