import { expect, test } from "bun:test";
import { readQuotedResults } from "../../../../../src/modules/doctor/send-test/quoted-results.ts";

const HEAD = "From: me@example.org\r\nAuthentication-Results: mx; spf=fail dkim=fail dmarc=fail\r\n\r\n";
const QUOTED =
  "Here it is:\r\nAuthentication-Results: mx.google.com;\r\n       dkim=pass header.i=@loja.example;\r\n       spf=pass (google.com: ...);\r\n       dmarc=fail (p=NONE)\r\n";
const read = (text: string) => readQuotedResults(Buffer.from(text)).map(({ method, result }) => `${method} ${result}`);

test("what the text quotes counts, in whatever encoding, and not the header of the reply itself", () => {
  const found = ["spf pass", "dkim pass", "dmarc fail"];
  expect(read(HEAD + QUOTED)).toEqual(found);
  expect(read(HEAD + QUOTED.replaceAll(/^/gm, "> "))).toEqual(found);
  expect(read(HEAD + QUOTED.replaceAll("=", "=3D").replace("google", "goo=\r\ngle"))).toEqual(found);
  expect(read(HEAD + Buffer.from(QUOTED).toString("base64").replaceAll(/.{76}/g, "$&\r\n"))).toEqual(found);
  expect(read(`${HEAD}Thanks!\r\n`)).toEqual([]);
  expect(read("")).toEqual([]);
});

test("a long reply is read in a moment", () => {
  const startedAt = performance.now();
  for (const piece of ["A".repeat(76), ">", "=", "Authentication-Results", "spf "])
    read(`${HEAD}${`${piece}\r\n`.repeat(20_000)}`);
  expect(performance.now() - startedAt).toBeLessThan(2_000);
});
