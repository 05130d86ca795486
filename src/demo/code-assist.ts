import type { Clock } from '../core/io.ts';
import type { JsonObject } from '../core/json.ts';
import { DAY_MS } from '../core/text/format.ts';
import { GENERATING_MODELS } from './catalog.ts';
import type { FaultBook } from './fault.ts';
import { errorResponse, faultResponse, notFoundResponse, type Outcome, VALIDATION_URL } from './google-error.ts';

const PROJECT = 'demo-project';
const OPERATION = 'operations/demo-onboarding';

const FREE_TIER = {
  id: 'free-tier',
  name: 'Demo for individuals',
  description: 'The free tier of the demo',
  isDefault: true,
};
const STANDARD_TIER = {
  id: 'standard-tier',
  name: 'Demo standard',
  description: 'The standard tier of the demo',
  userDefinedCloudaicompanionProject: true,
};

interface CodeAssist {
  call(method: string, body: JsonObject): Outcome;
  getOperation(name: string): Outcome;
}

export function createCodeAssist(faults: FaultBook, clock: Clock): CodeAssist {
  const isNew = faults.take(['new-user']) !== undefined;
  let isOnboarded = !isNew;
  let settings: JsonObject = { cloudaicompanionProject: PROJECT, freeTierDataCollectionOptin: false };
  const methods: Readonly<Record<string, (body: JsonObject) => Outcome>> = {
    'POST loadCodeAssist': (body) => answerLoad({ body, isOnboarded, faults }),
    'POST onboardUser': (body) => answerOnboard(body),
    'POST retrieveUserQuota': () => okOutcome({ buckets: createQuotaBuckets(clock) }),
    'POST listExperiments': () => okOutcome({ experimentIds: [], flags: [] }),
    'POST fetchAdminControls': () => okOutcome({ adminControlsApplicable: false }),
    'POST recordCodeAssistMetrics': () => okOutcome({}),
    'GET getCodeAssistGlobalUserSetting': () => okOutcome(settings),
    'POST setCodeAssistGlobalUserSetting': (body) => {
      settings = { ...settings, ...body };
      return okOutcome(settings);
    },
  };
  return {
    call: (method, body) =>
      methods[method]?.(body) ?? {
        ok: false,
        error: notFoundResponse(`Method not found: ${method.replace(/^\w+ /, '')}.`),
      },
    getOperation(name) {
      if (name !== OPERATION) return { ok: false, error: notFoundResponse(`Operation not found: ${name}.`) };
      isOnboarded = true;
      return okOutcome({ name, done: true, response: { cloudaicompanionProject: { id: PROJECT, name: PROJECT } } });
    },
  };
}

function okOutcome(body: JsonObject): Outcome {
  return { ok: true, body };
}

function answerLoad(context: {
  readonly body: JsonObject;
  readonly isOnboarded: boolean;
  readonly faults: FaultBook;
}): Outcome {
  const fault = context.faults.take(['UNSUPPORTED_CLIENT', 'VALIDATION_REQUIRED', 'TOS_VIOLATION'])?.name;
  if (fault === 'TOS_VIOLATION') {
    const denied = faultResponse({ fault, backend: 'code-assist', model: '' });
    if (denied !== undefined) return { ok: false, error: denied };
  }
  const allowedTiers = [FREE_TIER, STANDARD_TIER];
  const ineligible = { tierId: FREE_TIER.id, tierName: FREE_TIER.name };
  if (fault === 'UNSUPPORTED_CLIENT') {
    const reasonMessage = 'Personal accounts can no longer use this client.';
    return okOutcome({ ineligibleTiers: [{ ...ineligible, reasonCode: fault, reasonMessage }] });
  }
  if (fault === 'VALIDATION_REQUIRED') {
    const reasonMessage = 'Verify this account to continue.';
    const link = { validationUrl: VALIDATION_URL, validationUrlLinkText: 'Verify the account' };
    return okOutcome({ allowedTiers, ineligibleTiers: [{ ...ineligible, reasonCode: fault, reasonMessage, ...link }] });
  }
  if (!context.isOnboarded) return okOutcome({ allowedTiers });
  const project = context.body.cloudaicompanionProject;
  return okOutcome({
    currentTier: STANDARD_TIER,
    allowedTiers,
    cloudaicompanionProject: typeof project === 'string' && project !== '' ? project : PROJECT,
  });
}

function answerOnboard(body: JsonObject): Outcome {
  if (typeof body.tierId !== 'string') {
    const message = 'tierId is required.';
    return { ok: false, error: errorResponse({ code: 400, status: 'INVALID_ARGUMENT', message }) };
  }
  if (body.tierId === FREE_TIER.id && body.cloudaicompanionProject !== undefined) {
    const message = 'The free tier does not take a project.';
    return { ok: false, error: errorResponse({ code: 400, status: 'FAILED_PRECONDITION', message }) };
  }
  return okOutcome({ name: OPERATION, done: false });
}

function createQuotaBuckets(clock: Clock): readonly JsonObject[] {
  const resetTime = new Date(clock.now() + DAY_MS).toISOString();
  return GENERATING_MODELS.map((modelId) => ({
    resetTime,
    tokenType: 'REQUESTS',
    modelId,
    remainingFraction: 1,
    remainingAmount: '1000',
  }));
}
