// Whether what runs is what lies on the disk, and whether there is a newer release: asked for only where the operator
// names the address, and believed only by its signature.

import { getErrorMessage } from "../../../platform/errors.ts";
import { readStart } from "../../../platform/http/read-start.ts";
import { isCommentSignedBy, readPublicKey, readRelease, readSignature } from "../../../platform/update/minisign.ts";
import { bad, type Finding, ok, quote, unknown } from "../finding.ts";
import type { World } from "../world.ts";

const ANSWER_MS = 8_000;
/** A signature is a few hundred bytes. */
const MAX_SIGNATURE_BYTES = 16 * 1024;
const id = "update";

export async function checkUpdate(world: World): Promise<Finding[]> {
  const { config, build, instance } = world;
  if (instance?.isReplaced === true)
    return [
      bad(id, "warning", {
        seen: `pombo ${build.version} still runs, but its file on the disk was replaced after it started.`,
        step: "systemctl restart pombo\nBetter next time: pombo update, which tries the new one first and goes back when it fails.",
      }),
    ];
  const { releases } = config.doctor;
  const own = `pombo ${build.version} runs`;
  if (releases === null)
    return [ok(id, `${own}. It does not look for newer releases: [doctor] releases turns that on.`)];
  const step = `Look yourself: ${releases}`;
  if (build.releaseKey === null)
    return [unknown(id, `${own}. It was built without the key of releases, so that it cannot verify one.`, { step })];
  const url = `${releases.replace(/\/$/, "")}/${build.file}`;
  const found = await findNewest(`${url}.minisig`, build.releaseKey, world).catch((error: unknown) => ({
    kind: "fault" as const,
    reason: getErrorMessage(error),
  }));
  if (found.kind === "fault")
    return [
      unknown(id, `${own}. Whether there is a newer release could not be asked: ${quote(found.reason)}.`, { step }),
    ];
  if (Bun.semver.order(found.version, build.version) <= 0) return [ok(id, `${own}, the newest.`)];
  return [
    bad(id, "warning", {
      seen: `${own}, and release ${found.version} is available.`,
      step: `sudo pombo update ${url}`,
    }),
  ];
}

type Newest = { kind: "release"; version: string } | { kind: "fault"; reason: string };

/** The comment of a signature names the version and is signed itself, so that the executable need not be fetched. */
async function findNewest(place: string, releaseKey: string, { fetch: call, signal }: World): Promise<Newest> {
  const response = await call(place, { signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]) });
  if (!response.ok) {
    await response.body?.cancel();
    return { kind: "fault", reason: `${place} answered ${response.status}` };
  }
  const signature = readSignature(await readStart(response, MAX_SIGNATURE_BYTES));
  const key = readPublicKey(releaseKey);
  if (signature === null || key === null || !isCommentSignedBy(key, signature))
    return { kind: "fault", reason: `${place} is not signed with the key of this pombo's releases` };
  const release = readRelease(signature.trustedComment);
  return release === null
    ? { kind: "fault", reason: `${place} is the signature of no release` }
    : { kind: "release", version: release.version };
}
