interface FailureText {
  readonly pattern: RegExp;
  /** A message with which Google answered in this case. */
  readonly sent: string;
}

/** The cases that Google tells apart only in words: neither status nor reason says which it is. */
export const FAILURE_TEXTS = {
  // 429
  spendingCap: {
    pattern: /\bmonthly spending cap\b/i,
    sent: 'Your project has exceeded its monthly spending cap. Please go to AI Studio at https://ai.studio/spend',
  },
  credits: {
    pattern: /\bprepa(?:id|y|yment)\b.{0,40}\bdepleted\b/i,
    sent: 'Your prepayment credits are depleted. Please go to AI Studio at https://ai.studio/projects to manage your project and billing.',
  },
  freeTier: {
    pattern:
      /\bfree (?:quota )?tier\b.{0,20}\bnot available\b|n[o']t have a free (?:quota )?tier\b|\bwithout a billing account\b|\bto billed users\b/i,
    sent: "Gemini 2.5 Pro Preview doesn't have a free quota tier. Please use Gemini 2.5 Pro Experimental instead.",
  },
  zeroLimit: {
    pattern: /\blimit: ?0(?![.\d\w])/,
    sent: '* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 0, model: gemini-2.5-pro',
  },
  /** Of agents: a project without billing gets the same words for ever. */
  noQuota: { pattern: /\bnot have enough quota\b/i, sent: 'You do not have enough quota to make this request.' },
  /** Without a quota by name, in an answer to a request with Google Search: the search itself is refused. */
  planExceeded: {
    pattern: /\bcheck your plan\b/i,
    sent: 'You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.',
  },
  search: {
    pattern: /\bsearch[_ ]grounding/i,
    sent: '* Quota exceeded for metric: generativelanguage.googleapis.com/search_grounding_requests, limit: 0',
  },
  // 404
  retired: {
    pattern:
      /\bno longer (?:available|supported|served)\b|\b(?:is|was|been) (?:retired|discontinued|shut ?down|sunset)\b/i,
    sent: 'This model models/gemini-2.5-flash is no longer available to new users. Please update your code to use a newer model for the latest features and improvements.',
  },
  noAccess: {
    pattern: /\bnot have access\b|\bentity was not found\b/i,
    sent: 'Publisher Model `projects/p/locations/us-central1/publishers/google/models/gemini-3-flash-preview` was not found or your project does not have access to it.',
  },
  // 401 and 403
  keysNotTaken: {
    pattern: /\bAPI keys are not supported\b/i,
    sent: 'API keys are not supported by this API. Expected OAuth2 access token or other authentication credentials that assert a principal.',
  },
  termsViolated: {
    pattern: /\bdisabled in this account for violation of Terms of Service\b/i,
    sent: 'Gemini has been disabled in this account for violation of Terms of Service. If you believe this is an error, please contact Google Cloud Support',
  },
  notEligible: {
    pattern: /\baccount is not eligible\b|\bmust be a named user\b|\brestricted from using Gemini Code Assist\b/i,
    sent: "You must be a named user on your organization's Gemini Code Assist Standard edition subscription to use this service.",
  },
  serviceDisabled: {
    pattern: /\bhas not been used in project\b/i,
    sent: 'Gemini for Google Cloud API has not been used in project 12345678 before or it is disabled. Enable it by visiting https://console.developers.google.com/apis/api/cloudaicompanion.googleapis.com/overview?project=12345678 then retry.',
  },
  billingDisabled: {
    pattern: /\brequires billing to be enabled\b/i,
    sent: 'This API method requires billing to be enabled. Please enable billing on project #p by visiting https://console.developers.google.com/billing/enable?project=p then retry.',
  },
  file: {
    pattern: /\bpermission to access the file\b/i,
    sent: 'You do not have permission to access the File 1a2b3c or it may not exist.',
  },
  callerDenied: { pattern: /\bcaller does not have permission\b/i, sent: 'The caller does not have permission' },
  projectDenied: {
    pattern: /\bproject\b.{0,40}\bdenied access\b|\bconsumer\b.{0,80}\bsuspended\b/i,
    sent: 'Your project has been denied access. Please contact support.',
  },
  missingRole: {
    pattern: /\bpermission '[\w.]{1,100}' denied\b/i,
    sent: "Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/projects/p/locations/us-central1/publishers/google/models/gemini-pro' (or it may not exist).",
  },
  // 400
  /** https://ai.google.dev/gemini-api/docs/thought-signatures */
  signature: {
    pattern: /thought[_ ]?signature/i,
    sent: 'Function call is missing a thought_signature in functionCall parts.',
  },
  length: {
    pattern: /\btokens?\b.{0,60}\bexceeds?\b|\bexceeds?\b.{0,60}\btokens?\b/i,
    sent: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
  },
  size: {
    pattern:
      /\b(?:size|bytes|pages?)\b.{0,60}\bexceed|\bexceed(?:s|ed|ing)?\b.{0,60}\b(?:size|bytes|pages?|[KMG]i?B)\b/i,
    sent: 'Request payload size exceeds the limit: 20971520 bytes.',
  },
  location: {
    pattern: /\blocation is not supported\b/i,
    sent: 'User location is not supported for the API use.',
  },
  noPictures: {
    pattern: /\bimage generation is not available\b/i,
    sent: 'Image generation is not available in your country.',
  },
  noSearch: {
    pattern: /\bsearch grounding is not supported\b/i,
    sent: 'Search Grounding is not supported.',
  },
} as const satisfies Readonly<Record<string, FailureText>>;

export type FailureTextName = keyof typeof FAILURE_TEXTS;
