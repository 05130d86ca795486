import type { Clock } from '../core/io.ts';
import type { JsonObject } from '../core/json.ts';
import { DAY_MS } from '../core/text/format.ts';
import { GENERATING_MODELS } from './catalog.ts';
import type { FaultBook } from './fault.ts';
import {
  ApiError,
  errorResponse,
  faultResponse,
  invalidArgumentResponse,
  notFoundResponse,
  VALIDATION_URL,
} from './google-error.ts';

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

export function createCodeAssist(faults: FaultBook, clock: Clock) {
  const isNew = faults.take(['new-user']) !== undefined;
  let isOnboarded = !isNew;
  let settings: JsonObject = { cloudaicompanionProject: PROJECT, freeTierDataCollectionOptin: false };
  const methods: Readonly<Record<string, (body: JsonObject) => JsonObject>> = {
    'POST loadCodeAssist': (body) => answerLoad({ body, isOnboarded, faults }),
    'POST onboardUser': answerOnboard,
    'POST retrieveUserQuota': () => ({ buckets: createQuotaBuckets(clock) }),
    'POST listExperiments': () => ({ experimentIds: [], flags: [] }),
    'POST fetchAdminControls': () => ({ adminControlsApplicable: false }),
    'POST recordCodeAssistMetrics': () => ({}),
    'GET getCodeAssistGlobalUserSetting': () => settings,
    'POST setCodeAssistGlobalUserSetting': (body) => {
      settings = { ...settings, ...body };
      return settings;
    },
  };
  return {
    call(method: string, name: string, body: JsonObject): JsonObject {
      const answer = methods[`${method} ${name}`];
      if (answer === undefined) throw new ApiError(notFoundResponse(`Method not found: ${name}.`));
      return answer(body);
    },
    getOperation(name: string): JsonObject {
      if (name !== OPERATION) throw new ApiError(notFoundResponse(`Operation not found: ${name}.`));
      isOnboarded = true;
      return { name, done: true, response: { cloudaicompanionProject: { id: PROJECT, name: PROJECT } } };
    },
  };
}

function answerLoad(context: {
  readonly body: JsonObject;
  readonly isOnboarded: boolean;
  readonly faults: FaultBook;
}): JsonObject {
  const fault = context.faults.take(['UNSUPPORTED_CLIENT', 'VALIDATION_REQUIRED', 'TOS_VIOLATION'])?.name;
  if (fault === 'TOS_VIOLATION') {
    const denied = faultResponse({ fault, backend: 'code-assist', model: '' });
    if (denied !== undefined) throw new ApiError(denied);
  }
  const allowedTiers = [FREE_TIER, STANDARD_TIER];
  const ineligible = { tierId: FREE_TIER.id, tierName: FREE_TIER.name };
  if (fault === 'UNSUPPORTED_CLIENT') {
    const reasonMessage = 'Personal accounts can no longer use this client.';
    return { ineligibleTiers: [{ ...ineligible, reasonCode: fault, reasonMessage }] };
  }
  if (fault === 'VALIDATION_REQUIRED') {
    const reasonMessage = 'Verify this account to continue.';
    const link = { validationUrl: VALIDATION_URL, validationUrlLinkText: 'Verify the account' };
    return { allowedTiers, ineligibleTiers: [{ ...ineligible, reasonCode: fault, reasonMessage, ...link }] };
  }
  if (!context.isOnboarded) return { allowedTiers };
  const project = context.body.cloudaicompanionProject;
  return {
    currentTier: STANDARD_TIER,
    allowedTiers,
    cloudaicompanionProject: typeof project === 'string' && project !== '' ? project : PROJECT,
  };
}

function answerOnboard(body: JsonObject): JsonObject {
  if (typeof body.tierId !== 'string') throw new ApiError(invalidArgumentResponse('tierId is required.'));
  if (body.tierId === FREE_TIER.id && body.cloudaicompanionProject !== undefined) {
    const message = 'The free tier does not take a project.';
    throw new ApiError(errorResponse(400, 'FAILED_PRECONDITION', message));
  }
  return { name: OPERATION, done: false };
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
