import type { JsonObject } from '../core/json.ts';

export type LayerName = 'built-in' | 'system-defaults' | 'user' | 'gmn' | 'workspace' | 'system' | 'environment';

/** One source of settings. */
export interface Layer {
  readonly name: LayerName;
  /** The file; for the environment its variables. */
  readonly source: string;
  readonly state: 'used' | 'absent' | 'ignored';
  /** Why it is ignored. */
  readonly why?: string;
  /** What it sets; empty unless it is used. */
  readonly document: JsonObject;
  /** What of it is not used, in words. */
  readonly notices?: readonly string[];
}

/** A layer that is there but does not count. */
export function ignoredLayer(name: LayerName, source: string, why: string): Layer {
  return { name, source, state: 'ignored', why, document: {} };
}

/** A file that is not there. */
export function absentLayer(name: LayerName, source: string): Layer {
  return { name, source, state: 'absent', document: {} };
}
