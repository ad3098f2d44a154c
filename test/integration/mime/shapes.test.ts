import { expect, test } from "bun:test";
import { dkimVerify } from "mailauth/lib/dkim/verify";
import { signMessage } from "../../../src/protocols/dkim/sign.ts";
import { composeMessage } from "../../../src/protocols/mime/compose.ts";
import { domainKeys } from "../../support/dkim/support.ts";
import { readByMailparser, readByPostalMime } from "../../support/mime/readers.ts";
import { HOSTILE, makeShapes, toReadMail } from "../../support/mime/shapes.ts";

const READERS = { mailparser: readByMailparser, "postal-mime": readByPostalMime };
const { keys, records } = await domainKeys("exemplo.co.mz");

test("there are 24 shapes", () => {
  expect(new Set(makeShapes("x").map(({ name }) => name)).size).toBe(24);
});

for (const [kind, hostile] of Object.entries(HOSTILE)) {
  for (const [reader, read] of Object.entries(READERS)) {
    test(`${reader} reads each shape back as it was written, with ${kind}`, async () => {
      for (const { name, source } of makeShapes(hostile))
        expect({ name, ...(await read(composeMessage(source))) }).toEqual({ name, ...toReadMail(source) });
    });
  }

  test(`each shape is clean on the wire, with ${kind}`, () => {
    for (const { source } of makeShapes(hostile)) {
      const message = Buffer.from(composeMessage(source));
      const lines = message.toString("latin1").split("\r\n");
      expect(lines.some((line) => /[\r\n\0\x80-\xff]/.test(line))).toBe(false);
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(998);
      const headerLines = message.toString("latin1").split("\r\n\r\n")[0]?.split("\r\n") ?? [];
      const long = headerLines.filter((line) => line.length > 78);
      // Only a word that may not be broken is longer.
      expect(long.filter((line) => / ./.test(line.slice(1).replace(/^[^ ]+: /, "")))).toEqual([]);
    }
  });

  test(`mailauth passes both signatures of each shape, with ${kind}`, async () => {
    for (const { name, source } of makeShapes(hostile)) {
      const message = composeMessage(source);
      const signed = Buffer.concat([await signMessage(message, keys, source.createdAt), message]);
      const { results } = await dkimVerify(signed, {
        resolver: (record: string) => Promise.resolve([records[record] ?? []]),
      });
      const verdicts = results.map((result: { status: { result: string } }) => result.status.result);
      expect({ name, verdicts }).toEqual({ name, verdicts: ["pass", "pass"] });
    }
  });
}
