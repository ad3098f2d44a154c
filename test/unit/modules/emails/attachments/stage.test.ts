import { randomBytes as noise } from "node:crypto";
import { expect, test } from "bun:test";
import { listPieces, packAttachment, unpackPiece } from "../../../../../src/modules/emails/attachments/pack.ts";
import { createStaging, type StageDeps } from "../../../../../src/modules/emails/attachments/stage.ts";
import { openAttachmentStore } from "../../../../../src/modules/emails/attachments/store.ts";
import { AppError } from "../../../../../src/platform/errors.ts";
import { ThreadGone } from "../../../../../src/platform/worker-threads/worker-thread.ts";
import { temporaryDatabase } from "../../../../support/db/temporary.ts";

const MIB = 1024 * 1024;

/** A workspace's storage has room for so many bytes; it is deleted after so many transactions. */
function start({ room = Infinity, isThreadGone = false, lastsFor = Infinity } = {}) {
  const temporary = temporaryDatabase();
  const { db, committer } = temporary;
  const attachments = openAttachmentStore(db, () => undefined);
  let [now, taken, transactions] = [1_000, 0, 0];
  const sizes: number[] = [];
  const deps: StageDeps = {
    attachments: {
      ...attachments,
      addPiece(id, number, content) {
        sizes.push(content.length);
        attachments.addPiece(id, number, content);
      },
    },
    clock: { now: () => now, after: () => () => undefined },
    commit: (work) => {
      transactions += 1;
      return committer.commit(work);
    },
    packing: {
      async call(input) {
        // As a thread does: what it is given is gone here.
        const { base64 } = structuredClone(input, { transfer: [input.base64.buffer] });
        if (isThreadGone) throw new ThreadGone("it ended", true);
        return packAttachment({ base64 });
      },
    },
    takeStorage(_, bytes) {
      if (transactions > lastsFor) throw new AppError("INVALID_API_KEY", "deleted");
      if (taken + bytes > room) throw new AppError("PLAN_LIMIT_REACHED", "full");
      taken += bytes;
    },
  };
  const { stage } = createStaging(deps);
  const query = <T>(text: string) => db.sqlite.query<T, []>(text).all();
  return {
    stage: (workspaceId: number, ...contents: Buffer[]) =>
      stage(
        workspaceId,
        contents.map((content, index) => ({ base64: content.toString("base64"), path: ["attachments", index] })),
      ),
    stageTexts: (...texts: string[]) =>
      stage(
        1,
        texts.map((base64, index) => ({ base64, path: ["emails", 6, "attachments", index, "content"] })),
      ),
    read(id: number) {
      const parts: Uint8Array[] = [];
      const encoding = attachments.findFile(id)?.encoding ?? "plain";
      for (let number = 0; ; number += 1) {
        const piece = attachments.readPiece(id, number);
        if (piece === undefined) return Buffer.concat(parts);
        parts.push(unpackPiece(piece, encoding));
      }
    },
    sizes,
    wait: (ms: number) => (now += ms),
    taken: () => taken,
    transactions: () => transactions,
    files: () =>
      query<{ id: number; isWhole: number; staged_at: number }>(
        "SELECT id, sha256 IS NOT NULL AS isWhole, staged_at FROM attachment",
      ),
    pieces: () => query("SELECT attachment_id FROM attachment_piece").length,
    breakPieces: (sql: string) => db.sqlite.run(sql),
    [Symbol.dispose]: () => temporary[Symbol.dispose](),
  };
}

test("a file is written in pieces of at most a megabyte, each in its own transaction, and is whole with the last", async () => {
  using on = start();
  const content = noise(3 * MIB + 17);
  const [staged] = await on.stage(1, content);
  expect(staged?.bytes).toBe(content.length);
  expect(on.read(staged?.id ?? 0).equals(content)).toBe(true);
  expect(on.sizes).toEqual([MIB, MIB, MIB, 17]);
  expect(on.transactions()).toBe(4);
  expect(on.files()).toEqual([{ id: 1, isWhole: 1, staged_at: 1_000 }]);
  expect(on.taken()).toBe(content.length);
});

test("a workspace has a file once, whoever brings it when, and its hour begins again", async () => {
  using on = start();
  const [logo, bill] = [noise(2 * MIB), noise(1_000)];
  const all = await Promise.all([on.stage(1, logo, bill, logo), on.stage(1, logo), on.stage(2, logo)]);
  const [first, small, again, elsewhere, another] = all.flat().map(({ id }) => id);
  expect([again, elsewhere]).toEqual([first, first]);
  expect(new Set([first, small, another]).size).toBe(3);
  on.wait(500);
  expect((await on.stage(1, logo))[0]?.id).toBe(first);
  const renewed = on.files().filter(({ staged_at }) => staged_at === 1_500);
  expect(renewed.map(({ id }) => id)).toEqual([Number(first)]);
  expect([on.files().length, on.pieces()]).toEqual([3, 5]);
});

test("a file of no bytes is one", async () => {
  using on = start();
  const [staged] = await on.stage(1, Buffer.alloc(0));
  expect([staged?.bytes, on.pieces(), on.files()[0]?.isWhole]).toEqual([0, 0, 1]);
});

test("every text that is no base64 is named, and then nothing is stored", async () => {
  using on = start();
  const error = await on
    .stageTexts("QQ==", "QQ", "QUI=", "é".repeat(2 * MIB), "Ł===")
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AppError);
  const { code, items } = error as AppError;
  expect([code, items?.map(({ path }) => path)]).toEqual([
    "VALIDATION_ERROR",
    [1, 3, 4].map((index) => `emails[6].attachments[${index}].content`),
  ]);
  expect([on.files(), on.taken()]).toEqual([[], 0]);
});

test("storage that is full refuses the file before its first piece", async () => {
  using on = start({ room: 1_500 });
  await on.stage(1, noise(1_000));
  expect(await on.stage(1, noise(1_001)).catch((error: unknown) => (error as AppError).code)).toBe(
    "PLAN_LIMIT_REACHED",
  );
  expect([on.files().length, on.pieces(), on.taken()]).toEqual([1, 1, 1_000]);
});

test("a workspace that is deleted in the middle of a file is told so", async () => {
  using on = start({ lastsFor: 2 });
  const failed = await on.stage(1, noise(3 * MIB)).catch((error: unknown) => (error as AppError).code);
  expect([failed, on.pieces(), on.files().map(({ isWhole }) => isWhole)]).toEqual(["INVALID_API_KEY", 2, [0]]);
});

test("a file that failed in the middle is never whole, and comes anew", async () => {
  using on = start();
  const content = noise(2 * MIB + 1);
  on.breakPieces(
    "CREATE TRIGGER full BEFORE INSERT ON attachment_piece WHEN NEW.number = 1 BEGIN SELECT RAISE(ABORT, 'x'); END",
  );
  expect(await on.stage(1, content).catch((error: unknown) => (error as Error).message)).toBe("x");
  expect(on.files().map(({ isWhole }) => isWhole)).toEqual([0]);
  on.breakPieces("DROP TRIGGER full");
  const [staged] = await on.stage(1, content);
  expect(staged?.id).toBe(2);
  expect(on.read(2).equals(content)).toBe(true);
});

test("without its thread a file is packed here, from the request's own text", async () => {
  using on = start({ isThreadGone: true });
  const content = noise(MIB + 5);
  const [staged] = await on.stage(1, content);
  expect(on.read(staged?.id ?? 0).equals(content)).toBe(true);
});

test("a piece behind a deleted workspace's file is refused", () => {
  using temporary = temporaryDatabase();
  const attachments = openAttachmentStore(temporary.db, () => undefined);
  const { stored, bytes } = packAttachment({ base64: Buffer.from("QQ==") }) as Extract<
    ReturnType<typeof packAttachment>,
    { kind: "packed" }
  >;
  expect(listPieces({ stored, pieceBytes: [bytes] })).toHaveLength(1);
  expect(() => attachments.addPiece(9, 0, stored)).toThrow("gone");
});
