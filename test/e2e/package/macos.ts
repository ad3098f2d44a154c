// Checks what can be checked of the macOS executable without a Mac, for script/release-check: Mach-O for arm64, and a
// code signature whose hashes fit, as Apple silicon runs nothing without one.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const [file = ""] = process.argv.slice(2);
const bytes = readFileSync(file);
const MACH_O_64 = 0xfeedfacf;
const ARM64 = 0x0100000c;
const LC_CODE_SIGNATURE = 0x1d;
const CODE_DIRECTORY = 0xfade0c02;

function fail(words: string): never {
  console.error(`${file}: ${words}`);
  process.exit(1);
}

/** Where the signature begins, by the load commands (<mach-o/loader.h>). */
function findSignature(): number {
  let at = 32;
  for (let left = bytes.readUInt32LE(16); left > 0; left -= 1) {
    if (bytes.readUInt32LE(at) === LC_CODE_SIGNATURE) return bytes.readUInt32LE(at + 8);
    at += bytes.readUInt32LE(at + 4);
  }
  return fail("no code signature");
}

if (bytes.readUInt32LE(0) !== MACH_O_64 || bytes.readUInt32LE(4) !== ARM64) fail("no Mach-O for arm64");
const signature = findSignature();
// The signature is big-endian: magic, length, count, then type and offset of each part. The first is the code directory.
const directory = signature + bytes.readUInt32BE(signature + 16);
if (bytes.readUInt32BE(directory) !== CODE_DIRECTORY) fail("no code directory");
const hashes = directory + bytes.readUInt32BE(directory + 16);
const pages = bytes.readUInt32BE(directory + 28);
const limit = bytes.readUInt32BE(directory + 32);
const [hashBytes = 0, , , pageShift = 0] = bytes.subarray(directory + 36, directory + 40);
if (limit !== signature || pages !== Math.ceil(limit / 2 ** pageShift)) fail("the signature does not cover the file");
for (let page = 0; page < pages; page += 1) {
  const content = bytes.subarray(page * 2 ** pageShift, Math.min((page + 1) * 2 ** pageShift, limit));
  const expected = bytes.subarray(hashes + page * hashBytes, hashes + (page + 1) * hashBytes);
  if (!createHash("sha256").update(content).digest().equals(expected)) fail(`the signature does not fit page ${page}`);
}
console.log(`Mach-O for arm64, ${pages} pages signed (ad hoc)`);
