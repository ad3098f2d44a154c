// The second entry of the executable: a thread that prepares emails when they are accepted
// (src/modules/emails/content/prepare-thread.ts), packs attachments (src/modules/emails/attachments/pack.ts), composes and signs them when they are sent (src/modules/emails/content/compose.ts) or reads what
// comes back about them (src/modules/inbound-mail/read-report.ts), looks for damaged pages (src/platform/db/file/page-check.ts), or
// checkpoints the log (src/platform/db/checkpoints.ts).

import { type CheckpointInput, checkpointLog } from "../platform/db/checkpoints.ts";
import { findDamage } from "../platform/db/file/page-damage.ts";
import { plainKeyReader } from "../protocols/dkim/keys.ts";
import { openLibcrypto } from "../protocols/dkim/libcrypto.ts";
import { poolSigner } from "../protocols/dkim/sign.ts";
import { composeAndSign, type ComposeInput } from "../modules/emails/content/compose.ts";
import { type GivenAttachment, packAttachment } from "../modules/emails/attachments/pack.ts";
import { type GivenContent, prepareContent } from "../modules/emails/content/body.ts";
import { countContentBytes } from "../modules/emails/content/mime-body.ts";
import {
  type GivenSubmission,
  type ReadSubmission,
  readSubmitted,
} from "../modules/emails/submitted/read-submitted.ts";
import { readShown, type ShownBody } from "../modules/emails/submitted/show.ts";
import { parseReport } from "../protocols/dsn/parse-report.ts";
import type { GivenReport } from "../modules/inbound-mail/read-report.ts";
import {
  type Answer,
  answerCalls,
  type Answers,
  type Calls,
  findLargeBuffer,
} from "../platform/worker-threads/worker-thread.ts";

declare const self: {
  addEventListener(type: "message", listener: (event: MessageEvent<Calls>) => void): void;
  postMessage(message: Answers, transfer: ArrayBuffer[]): void;
};

/** Contents so large leave much behind, */
const LARGE_BYTES = 100_000;
/** which is thrown away after so many bytes: by itself a thread lets 100 MB pile up. */
const WORTH_COLLECTING = 4_000_000;

const readKeys = plainKeyReader();
let signRsa: typeof poolSigner | null = null;
let leftBehind = 0;

type Input =
  | GivenSubmission
  | ShownBody
  | GivenContent
  | GivenAttachment
  | ComposeInput
  | GivenReport
  | { databaseFile: string }
  | CheckpointInput;

function run(input: Input): unknown {
  if ("checkpointFile" in input) return checkpointLog(input.checkpointFile);
  if ("databaseFile" in input) return findDamage(input.databaseFile);
  if ("bytes" in input) return parseReport(input.bytes, input.recipient);
  if ("submitted" in input) {
    leave(input.submitted.reduce((sum, { length }) => sum + length, 0));
    return readSubmitted(input);
  }
  if ("shown" in input) return readShown(input);
  if ("base64" in input) {
    leave(input.base64.length);
    return packAttachment(input);
  }
  if (!("uid" in input)) {
    leave((input.html?.length ?? 0) + (input.text?.length ?? 0));
    return prepareContent(input);
  }
  signRsa ??= openLibcrypto() ?? poolSigner;
  const pieces = input.extras?.attachments.flatMap((attachment) => attachment.pieces) ?? [];
  const attached = pieces.reduce((bytes, { byteLength }) => bytes + byteLength, 0);
  leave(countContentBytes(input.body, attached));
  return composeAndSign(input, readKeys, signRsa);
}

/** A composed message and a packed attachment are handed over, not copied. */
function findLarge(answer: Answer): ArrayBuffer[] {
  const output = answer.kind === "done" ? answer.output : null;
  if (typeof output !== "object" || output === null) return [];
  if ("kind" in output && output.kind === "read") return findLargeOfSubmission(output as ReadSubmission);
  const { message, stored } = output as { message?: unknown; stored?: unknown };
  return [message, stored].flatMap((octets) => (octets instanceof Uint8Array ? findLargeBuffer(octets) : []));
}

function findLargeOfSubmission({ body, files }: ReadSubmission): ArrayBuffer[] {
  return [...new Set([body.stored, ...files.map(({ packed }) => packed.stored)].flatMap(findLargeBuffer))];
}

function leave(bytes: number): void {
  if (bytes < LARGE_BYTES) return;
  leftBehind += bytes;
  if (leftBehind < WORTH_COLLECTING) return;
  leftBehind = 0;
  // Once this turn's answers are on their way.
  setImmediate(() => Bun.gc(true));
}

self.addEventListener("message", ({ data }) => {
  void answerCalls(data, run).then((answers) => {
    self.postMessage(answers, answers.outputs.flatMap(findLarge));
  });
});
