/// <reference lib="esnext.disposable" />
// The types of `import { demo } from "gmn/demo"`, as they are shipped.

export interface DemoOptions {
  /** As `gmn demo serve --fault` takes them: `503x1`, `cut-after=2`, … */
  readonly faults?: readonly string[] | undefined;
  /** Your own answers, as `gmn demo serve --script` takes them: one JSON object a line. */
  readonly script?: string | undefined;
  /** Default: a free one. */
  readonly port?: number | undefined;
}

export interface DemoRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The parsed JSON, or the text if it is none. */
  readonly body: unknown;
}

export interface DemoServer {
  /** For `server` of the options, and for any other Gemini client. */
  readonly url: string;
  /** All requests so far, the first one first. */
  readonly requests: readonly DemoRequest[];
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts the offline model on 127.0.0.1, in this process. */
export function demo(options?: DemoOptions): Promise<DemoServer>;
