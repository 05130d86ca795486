import { CANARIES } from '../../support/canaries.ts';
import type { Fault } from '../fault.ts';
import { answer, refusal, reply } from '../wire-answers.ts';

/** The rows N1 to N37. */
export const CONNECTION: readonly Fault[] = [
  { id: 'N1', what: 'DNS failure, permanent', variants: [], open: 'not written yet' },
  { id: 'N2', what: 'DNS temporary (EAI_AGAIN)', variants: [], open: 'not written yet' },
  {
    id: 'N3',
    what: 'connection refused',
    variants: [
      {
        name: 'a closed port',
        env: { GOOGLE_GEMINI_BASE_URL: 'http://127.0.0.1:9' },
        expect: { code: 3, says: /connection to 127\.0\.0\.1:9 refused/, text: '' },
      },
    ],
  },
  { id: 'N4', what: 'connect black hole', variants: [], open: 'not written yet' },
  { id: 'N5', what: 'reset before headers', variants: [], open: 'not written yet' },
  {
    id: 'N6',
    what: 'TLS: self-signed, expired, wrong host, TLS 1.0 only, plaintext on 443',
    variants: [],
    open: 'not written yet',
  },
  {
    id: 'N7',
    what: '401 once',
    variants: [
      {
        name: 'a sign-in',
        signIn: 'fresh',
        model: [refusal(401, 'UNAUTHENTICATED'), reply('Hello.')],
        token: [answer(200, JSON.stringify({ access_token: CANARIES.granted, expires_in: 3599 }))],
        expect: { code: 0, text: 'Hello.' },
      },
    ],
  },
  { id: 'N8', what: '401 again after refresh', variants: [], open: 'not written yet' },
  { id: 'N9', what: '401 mid-session in chat (turn 5)', variants: [], open: 'not written yet' },
  { id: 'N10', what: 'refresh: invalid_grant', variants: [], open: 'not written yet' },
  {
    id: 'N11',
    what: 'refresh: 5xx / timeout / HTML / empty / 200 without access_token',
    variants: [],
    open: 'not written yet',
  },
  { id: 'N12', what: '403 VALIDATION_REQUIRED (Code Assist domain)', variants: [], open: 'not written yet' },
  { id: 'N13', what: '403 SECURITY_POLICY_VIOLATED (VPC-SC)', variants: [], open: 'not written yet' },
  {
    id: 'N14',
    what: '403 PERMISSION_DENIED, SERVICE_DISABLED, project missing, tier not eligible',
    variants: [],
    open: 'not written yet',
  },
  { id: 'N15', what: '403 scope insufficient', variants: [], open: 'not written yet' },
  { id: 'N16', what: '404 model', variants: [], open: 'not written yet' },
  { id: 'N17', what: '400 invalid argument', variants: [], open: 'not written yet' },
  { id: 'N18', what: '429 + RetryInfo 2 s', variants: [], open: 'not written yet' },
  { id: 'N19', what: '429 + RetryInfo 600 s', variants: [], open: 'not written yet' },
  { id: 'N20', what: '429 without details', variants: [], open: 'not written yet' },
  {
    id: 'N21',
    what: '429 terminal: PerDay, QUOTA_EXHAUSTED, limit: 0, credits',
    variants: [],
    open: 'not written yet',
  },
  {
    id: 'N22',
    what: '429 "Please retry in 1.5s" only in text; Retry-After: 1 only in header',
    variants: [],
    open: 'not written yet',
  },
  { id: 'N23', what: 'MODEL_CAPACITY_EXHAUSTED', variants: [], open: 'not written yet' },
  { id: 'N24', what: '499, 500, 502, 503, 504 each: once, always', variants: [], open: 'not written yet' },
  { id: 'N25', what: '502 with an HTML page of 1 MB', variants: [], open: 'not written yet' },
  { id: 'N26', what: '200 with text/html (captive portal)', variants: [], open: 'not written yet' },
  {
    id: 'N27',
    what: '200 with JSON error object instead of SSE; JSON array form (no alt=sse)',
    variants: [],
    open: 'not written yet',
  },
  { id: 'N28', what: 'redirect 301/302/307', variants: [], open: 'not written yet' },
  {
    id: 'N29',
    what: 'HTTPS_PROXY/HTTP_PROXY/ALL_PROXY/NO_PROXY, upper and lower case, with user:pass',
    variants: [],
    open: 'not written yet',
  },
  { id: 'N30', what: 'proxy 407, proxy dead, proxy hangs', variants: [], open: 'not written yet' },
  { id: 'N31', what: 'gzip / br / deflate / zstd response', variants: [], open: 'not written yet' },
  { id: 'N32', what: 'truncated gzip', variants: [], open: 'not written yet' },
  { id: 'N33', what: 'gzip bomb (1 MB → 1 GB)', variants: [], open: 'not written yet' },
  { id: 'N34', what: 'request body too large (413), header too large (431)', variants: [], open: 'not written yet' },
  {
    id: 'N35',
    what: 'keep-alive socket closed by the peer while idle 60 s, then reused',
    variants: [],
    open: 'not written yet',
  },
  { id: 'N36', what: 'system clock wrong ±2 h', variants: [], open: 'not written yet' },
  { id: 'N37', what: 'IPv6 first, broken', variants: [], open: 'not written yet' },
];
