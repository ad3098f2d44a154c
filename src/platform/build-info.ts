// Set by script/build; a run from source has none of them.
declare const POMBO_VERSION: string | undefined;
declare const POMBO_COMMIT: string | undefined;
declare const POMBO_LITESTREAM: string | undefined;
declare const POMBO_LITESTREAM_SHA256: string | undefined;
declare const POMBO_RELEASE_PUBLIC_KEY: string | undefined;

/** What this binary was made from. */
export const BUILD = {
  version: typeof POMBO_VERSION === "string" ? POMBO_VERSION : "0.1.0-source",
  commit: typeof POMBO_COMMIT === "string" ? POMBO_COMMIT : "unknown",
  /** The embedded daemon; null: built without one; undefined: a run from source, which has it beside it. */
  litestream: litestream(),
  /** By which updates from the network are known, as minisign prints it; null: built without one. */
  releaseKey:
    typeof POMBO_RELEASE_PUBLIC_KEY === "string" && POMBO_RELEASE_PUBLIC_KEY !== "" ? POMBO_RELEASE_PUBLIC_KEY : null,
};

function litestream(): { version: string; sha256: string } | null | undefined {
  if (typeof POMBO_LITESTREAM !== "string" || typeof POMBO_LITESTREAM_SHA256 !== "string") return undefined;
  return POMBO_LITESTREAM === "none" ? null : { version: POMBO_LITESTREAM, sha256: POMBO_LITESTREAM_SHA256 };
}
