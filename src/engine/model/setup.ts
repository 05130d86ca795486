import type { ServiceTier } from '../../core/model.ts';
import type { Sampling } from '../../models/generation.ts';
import type { Backend, BuiltInModel } from '../../models/table.ts';

/** Which model answers, and how it is asked. */
export interface ModelSetup extends Sampling {
  readonly model?: string;
  /** The model of the resumed session. Used if `model` is absent, regardless of the settings. */
  readonly keptModel?: string;
  /** Used if both are absent, regardless of the settings. */
  readonly builtIn?: BuiltInModel;
  readonly auth?: string;
  readonly backend?: Backend;
  readonly demo?: boolean;
  readonly retries?: number;
  readonly noFallback?: boolean;
  /** Models to ask when the one before has no room, separated by commas. */
  readonly fallback?: string;
  readonly dryRun?: boolean;
  readonly serviceTier?: ServiceTier;
  readonly store?: boolean;
}
