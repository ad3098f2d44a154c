// Set by script/build; a run from source has neither.
declare const POMBO_VERSION: string | undefined;
declare const POMBO_COMMIT: string | undefined;

/** What this binary was made from. */
export const BUILD = {
  version: typeof POMBO_VERSION === "string" ? POMBO_VERSION : "0.1.0-source",
  commit: typeof POMBO_COMMIT === "string" ? POMBO_COMMIT : "unknown",
};
