// Stores the attachments of a request, piece by piece, before the transaction that accepts its emails and refers to them.

import type { Context } from "../../../platform/context.ts";
import type { LargeText } from "../../../platform/http/body/large-text.ts";
import { validationError } from "../../../platform/http/errors.ts";
import type { FieldError } from "../../../platform/http/request-schemas.ts";
import { freeOctets } from "../../../platform/free-octets.ts";
import { yieldToEventLoop } from "../../../platform/queue/queue-admin.ts";
import { type ThreadClient, ThreadGone } from "../../../platform/worker-threads/worker-thread.ts";
import { type GivenAttachment, listPieces, type NotBase64, packAttachment, type PackedAttachment } from "./pack.ts";
import type { AttachmentStore } from "./store.ts";

export interface StageDeps extends Pick<Context, "commit" | "clock"> {
  packing: Pick<ThreadClient<GivenAttachment, PackedAttachment | NotBase64>, "call">;
  attachments: Pick<AttachmentStore, "renew" | "add" | "addPiece" | "complete">;
  /** Inside a transaction: takes room from the workspace's storage. Throws AppError, also where the workspace is gone. */
  takeStorage: (workspaceId: number, bytes: number) => void;
}

/** A file that an email may refer to for an hour. */
export interface StagedAttachment {
  id: number;
  /** Of its content. */
  bytes: number;
}

/** Base64, and where it stands in the request. */
export interface GivenContent {
  base64: string | LargeText;
  path: FieldError["path"];
}

/** In their order. Throws AppError: 422 with each that is no base64, 402 where the workspace's storage is full. */
export type StageAttachments = (workspaceId: number, given: GivenContent[]) => Promise<StagedAttachment[]>;

/** The same of what is packed already. */
export type StagePacked = (workspaceId: number, packed: PackedAttachment[]) => Promise<StagedAttachment[]>;

export interface Staging {
  stage: StageAttachments;
  stagePacked: StagePacked;
}

/** Given to the thread at once: so many, and none behind so many characters. */
const TURN = 8;
const TURN_CHARACTERS = 2 * 1024 * 1024;
/** Characters that are copied before others are served. */
const COPY_CHARACTERS = 1024 * 1024;
/** A longer one is staged in turn with those of other requests. */
const LARGE_CHARACTERS = 640 * 1024;
const ENCODER = new TextEncoder();
const NO_BASE64 = ENCODER.encode("?");

export function createStaging(deps: StageDeps): Staging {
  const runInTurn = createTurn();
  /** Files that are being written: who brings one of them again waits for it. */
  const underWay = new Map<string, Promise<number>>();
  const stageOne = async (workspaceId: number, packed: PackedAttachment): Promise<StagedAttachment> => {
    const key = `${workspaceId} ${Buffer.from(packed.sha256).toString("hex")}`;
    let writing = underWay.get(key);
    if (writing === undefined) {
      writing = writeFile(workspaceId, packed, deps).finally(() => underWay.delete(key));
      underWay.set(key, writing);
    }
    try {
      return { id: await writing, bytes: packed.bytes };
    } finally {
      freeOctets(packed.stored);
    }
  };
  const stage: StageAttachments = async (workspaceId, given) => {
    const staged: StagedAttachment[] = [];
    const faults: FieldError[] = [];
    const stageAll = async (turn: GivenContent[]) => {
      const packed = await Promise.all(turn.map(({ base64 }) => pack(base64, deps)));
      const whole = packed.filter((each) => each.kind === "packed");
      for (const [index, { path, base64 }] of turn.entries())
        if (packed[index]?.kind !== "packed") faults.push({ path, message: NOT_BASE64, hint: explainFault(base64) });
      // With a fault nothing is accepted: the others are only looked at.
      if (faults.length === 0) staged.push(...(await Promise.all(whole.map((each) => stageOne(workspaceId, each)))));
    };
    for (let at = 0; at < given.length;) {
      const turn = nextTurn(given, at);
      const isLarge = turn.some(({ base64 }) => base64.length > LARGE_CHARACTERS);
      await (isLarge ? runInTurn(() => stageAll(turn)) : stageAll(turn));
      at += turn.length;
    }
    if (faults.length > 0) throw validationError(faults);
    return staged;
  };
  const stagePacked: StagePacked = async (workspaceId, packed) => {
    const staged: StagedAttachment[] = [];
    for (const each of packed) {
      const isLarge = each.stored.length > LARGE_CHARACTERS;
      await (isLarge
        ? runInTurn(async () => void staged.push(await stageOne(workspaceId, each)))
        : stageOne(workspaceId, each).then((one) => staged.push(one)));
    }
    return staged;
  };
  return { stage, stagePacked };
}

/**
 * Runs one work after another. Each large file is in memory three times while it is staged, and several megabytes in
 * one transaction would keep all that it shares a sync with waiting.
 */
function createTurn(): (work: () => Promise<void>) => Promise<void> {
  let last = Promise.resolve();
  return (work) => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
}

const NOT_BASE64 = "must be base64 (RFC 4648 §4) with its padding";
/** Characters that are searched for the fault: the beginning shows it. */
const LOOKED_AT = 4_096;

function explainFault(base64: GivenContent["base64"]): string {
  const beginning = base64.slice(0, LOOKED_AT);
  if (/^data:/i.test(beginning)) return 'Leave out the beginning of the data: URL, up to its comma: "data:…;base64,".';
  if (/\s/.test(beginning)) return "Leave out line breaks and other white space. From a shell: base64 -w0 file.pdf.";
  if (/[-_]/.test(beginning)) return "This is base64url: write + for - and / for _, with the padding (=) at the end.";
  return "Its length is a multiple of 4, with = at the end where it needs it. From a shell: base64 -w0 file.pdf.";
}

/** The next files for the thread: each that waits for it is in memory twice. */
function nextTurn(given: GivenContent[], from: number): GivenContent[] {
  let [end, characters] = [from, 0];
  for (; end < Math.min(given.length, from + TURN) && characters < TURN_CHARACTERS; end += 1)
    characters += given[end]?.base64.length ?? 0;
  return given.slice(from, end);
}

async function pack(base64: GivenContent["base64"], { packing }: StageDeps): Promise<PackedAttachment | NotBase64> {
  const given = { base64: await toOctets(base64) };
  try {
    return await packing.call(given);
  } catch (error) {
    if (!(error instanceof ThreadGone)) throw error;
    // The octets have gone with it.
    return packAttachment({ base64: await toOctets(base64) });
  }
}

/** A thread gets octets without a copy, a text by two: milliseconds for each megabyte. */
async function toOctets(text: GivenContent["base64"]): Promise<Uint8Array<ArrayBuffer>> {
  if (typeof text === "string" && text.length <= COPY_CHARACTERS) return ENCODER.encode(text);
  // Of its own memory, which the thread is given.
  const octets = new Uint8Array(Buffer.allocUnsafeSlow(text.length).buffer);
  for (let at = 0; at < text.length; at += COPY_CHARACTERS) {
    if (at > 0) await yieldToEventLoop();
    if (!copyPiece(text, octets, at)) return NO_BASE64;
  }
  return octets;
}

/** False: a character beyond ASCII does not fit, and is no base64. */
function copyPiece(text: GivenContent["base64"], octets: Uint8Array, at: number): boolean {
  const end = at + COPY_CHARACTERS;
  if (typeof text === "string") {
    const piece = text.slice(at, end);
    return ENCODER.encodeInto(piece, octets.subarray(at)).read === piece.length;
  }
  text.copyTo(octets, at, end);
  return true;
}

/** Its first piece comes with the file, the others in a transaction each. */
async function writeFile(workspaceId: number, packed: PackedAttachment, deps: StageDeps): Promise<number> {
  const { commit, clock, attachments, takeStorage } = deps;
  const { bytes, encoding } = packed;
  const sha256 = Buffer.from(packed.sha256);
  const pieces = listPieces(packed);
  const [first] = pieces;
  const begun = await commit(() => {
    const stagedAt = clock.now();
    const known = attachments.renew({ workspaceId, sha256, stagedAt });
    if (known !== undefined) return { id: known, isWhole: true };
    takeStorage(workspaceId, packed.stored.length);
    const isWhole = pieces.length <= 1;
    const file = { workspaceId, bytes, storedBytes: packed.stored.length, encoding, stagedAt };
    const id = attachments.add({ ...file, sha256: isWhole ? sha256 : null });
    if (first !== undefined) attachments.addPiece(id, 0, first);
    return { id, isWhole };
  });
  if (begun.isWhole) return begun.id;
  for (const [number, piece] of pieces.entries()) {
    if (number === 0) continue;
    await commit(() => {
      // Its workspace may have been deleted meanwhile, and the file with it.
      takeStorage(workspaceId, 0);
      attachments.addPiece(begun.id, number, piece);
      if (number === pieces.length - 1) attachments.complete(begun.id, sha256);
    });
  }
  return begun.id;
}
