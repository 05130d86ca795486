import type { AnswerSetup } from '../engine/answer/setup.ts';
import type { InstructionSetup } from '../engine/instruction/setup.ts';
import type { LimitSetup } from '../engine/limits/setup.ts';
import type { ModelSetup } from '../engine/model/setup.ts';
import type { RunSetup } from '../engine/setup.ts';
import type { ToolSetup } from '../engine/tools/setup.ts';

/** The flags of commands that open a run. */
export interface RunFlags
  extends Omit<ModelSetup, 'keptModel' | 'followThoughts'>,
    Omit<
      ToolSetup,
      'namedTools' | 'ignoresPermissions' | 'ownTools' | 'clientServers' | 'servers' | 'workspace' | 'isPreview'
    >,
    Pick<InstructionSetup, 'system' | 'appendSystemPrompt' | 'noAgentPrompt' | 'noContext'>,
    Pick<LimitSetup, 'timeout' | 'maxTurns' | 'maxCost'>,
    Pick<AnswerSetup, 'outputSchema'> {}

/** Where flags become the setup of a run, for one-shots, chats, editors, processes and batches. */
export function toRunSetup(flags: RunFlags): RunSetup {
  return {
    model: {
      model: flags.model,
      builtIn: flags.builtIn,
      auth: flags.auth,
      backend: flags.backend,
      demo: flags.demo,
      retries: flags.retries,
      noFallback: flags.noFallback,
      fallback: flags.fallback,
      dryRun: flags.dryRun,
      serviceTier: flags.serviceTier,
      store: flags.store,
      temperature: flags.temperature,
      topP: flags.topP,
      topK: flags.topK,
      maxOutputTokens: flags.maxOutputTokens,
      seed: flags.seed,
      stop: flags.stop,
      option: flags.option,
      thinkingLevel: flags.thinkingLevel,
      thinkingBudget: flags.thinkingBudget,
      thinkingMatch: flags.thinkingMatch,
      showThoughts: flags.showThoughts,
      imageConfig: flags.imageConfig,
    },
    tools: {
      tools: flags.tools,
      allowedTools: flags.allowedTools,
      approvalMode: flags.approvalMode,
      yolo: flags.yolo,
      includeDirectories: flags.includeDirectories,
      shell: flags.shell,
      search: flags.search,
      code: flags.code,
      url: flags.url,
      mcpConfig: flags.mcpConfig,
      allowedMcpServerNames: flags.allowedMcpServerNames,
      sandbox: flags.sandbox,
      sandboxNet: flags.sandboxNet,
      sandboxAsk: flags.sandboxAsk,
    },
    instruction: {
      system: flags.system,
      appendSystemPrompt: flags.appendSystemPrompt,
      noAgentPrompt: flags.noAgentPrompt,
      noContext: flags.noContext,
    },
    limits: {
      timeout: flags.timeout,
      maxTurns: flags.maxTurns,
      maxCost: flags.maxCost,
    },
    answer: { outputSchema: flags.outputSchema },
    session: {},
  };
}
