import { expect, test } from "bun:test";
import { isSignedBy, readPublicKey, readRelease, readSignature } from "../../../../src/platform/update/minisign.ts";

// Made by minisign 0.11; the private key was thrown away.
const PUBLIC = `untrusted comment: minisign public key 13E4B871F7103C6B
RWRrPBD3cbjkE4dlrL6KcPVmAWrMIL5sAldENVCfmlFebSZhNriJwrz/
`;
const CONTENT = Buffer.from("pombo\n");
const HASHED = `untrusted comment: signature from minisign secret key
RURrPBD3cbjkE0GsYBdpx3Q4hJo/4Bk0MD37gZyyfbaFqHNJTxi+5rYxXxQd8LfOMWeRKY9GMrvXw0Z+rpSKJZsA17l1/GglGQ0=
trusted comment: version:0.2.0\tfile:pombo-linux-x64\ttimestamp:1790000000
qKnfhSiZ2vQTwcGoDcPJimyWJZLH515Z2PZUcvZEHlCAYGHfGaggPPaf/9Fg+ofGY1mwxJTOrNXfQ+QcpDGCCw==
`;
const LEGACY = `untrusted comment: signature from minisign secret key
RWRrPBD3cbjkE2VfFwgr7NdJeMRnT8uV+msTgK02vmLisvvt0V0u0pJN99EYY67m9IZBA3sBNhLQgCCg6AGYxdxBL0MM+m9lewI=
trusted comment: version:0.2.0\tfile:pombo-linux-x64\ttimestamp:1790000000
cq5gN/PvAw4yv5irg3IG1BvCTbu0kxMp3qCAkXdBzCABP3bYA1NKzXpX/ulBPocz3c7ZD5CsFqB3ZDHooLSsBQ==
`;
const OTHER_PUBLIC = "RWRyW7XkRWXiKKMepuAG4Njnq3kVlCsvAd0WbwlYI3+qibOyBwSUlpov";

const signedBy = (text: string, content: Uint8Array, key = PUBLIC): boolean => {
  const [read, signature] = [readPublicKey(key), readSignature(text)];
  if (read === null || signature === null) throw new Error("the vectors cannot be read");
  const hash = new Bun.CryptoHasher("blake2b512").update(content).digest();
  return isSignedBy(read, signature, signature.algorithm === "ED" ? hash : content);
};

test("what minisign signed is known by its key, in both of its ways", () => {
  expect(signedBy(HASHED, CONTENT)).toBe(true);
  expect(signedBy(LEGACY, CONTENT)).toBe(true);
  // As copied from a terminal: the line alone, and with CRLF.
  expect(signedBy(HASHED.replaceAll("\n", "\r\n"), CONTENT, PUBLIC.split("\n")[1])).toBe(true);
  expect(readSignature(HASHED)?.algorithm).toBe("ED");
  expect(readSignature(LEGACY)?.algorithm).toBe("Ed");
});

test("another file, another comment, another key, and the two ways mixed up are not", () => {
  for (const text of [HASHED, LEGACY]) {
    expect(signedBy(text, Buffer.from("pombo"))).toBe(false);
    expect(signedBy(text.replace("0.2.0", "9.2.0"), CONTENT)).toBe(false);
    expect(signedBy(text, CONTENT, OTHER_PUBLIC)).toBe(false);
  }
  const [hashed, legacy] = [HASHED.split("\n"), LEGACY.split("\n")];
  const mixed = [hashed[0], hashed[1], legacy[2], legacy[3]].join("\n");
  expect(signedBy(mixed, CONTENT)).toBe(false);
  // The first two letters are not signed: whoever changes them must gain nothing by it.
  const relabelled = HASHED.replace("RURr", "RWRr");
  expect(readSignature(relabelled)?.algorithm).toBe("Ed");
  expect(signedBy(relabelled, CONTENT)).toBe(false);
  // Nor is a key's id: a key of another's with this id.
  const forged = Buffer.from(OTHER_PUBLIC, "base64");
  Buffer.from("6b3c10f771b8e413", "hex").copy(forged, 2);
  expect(signedBy(HASHED, CONTENT, forged.toString("base64"))).toBe(false);
});

test("each byte of both signatures counts", () => {
  const lines = HASHED.split("\n");
  for (const [line, from] of [
    [1, 10],
    [3, 0],
  ] as const) {
    for (let at = from; at < from + 64; at += 1) {
      const bytes = Buffer.from(lines[line] ?? "", "base64");
      bytes[at] = (bytes[at] ?? 0) ^ 0x01;
      expect(signedBy(lines.with(line, bytes.toString("base64")).join("\n"), CONTENT)).toBe(false);
    }
  }
});

test("what is no signature or key is none", () => {
  const lines = HASHED.split("\n");
  for (const text of [
    "",
    "untrusted comment: x\n",
    lines.slice(0, 3).join("\n"),
    lines.slice(1).join("\n"),
    `${HASHED}more\n`,
    HASHED.replace("RURr", "RUVr").replace("RUVr", "QURr"),
    HASHED.replace("trusted comment: v", "comment: v"),
    lines.with(1, `${lines[1]}AAAA`).join("\n"),
    lines.with(3, (lines[3] ?? "").replace("==", "")).join("\n"),
    "\0".repeat(1000),
  ])
    expect(readSignature(text)).toBeNull();
  for (const text of ["", "RWRr", OTHER_PUBLIC.slice(4), `RUR${OTHER_PUBLIC.slice(3)}`, "x".repeat(56)])
    expect(readPublicKey(text)).toBeNull();
});

test("a comment of a release names its version and file, and another is of none", () => {
  expect(readRelease("version:0.2.0\tfile:pombo-linux-x64\ttimestamp:1790000000\thashed")).toEqual({
    version: "0.2.0",
    file: "pombo-linux-x64",
  });
  for (const text of [
    "",
    "timestamp:1795376977\tfile:pombo-linux-x64\thashed",
    "version:0.2.0",
    "version:\tfile:pombo",
    "version:latest\tfile:pombo",
    "xversion:0.2.0\tfile:pombo",
  ])
    expect(readRelease(text)).toBeNull();
});
