// The work of script/release-key.
import { createHash, createPrivateKey, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { createReadStream, readFileSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";

const PKCS8_HEAD = Buffer.from("302e020100300506032b657004220420", "hex");
const [ID, SEED, SECRET, CHECK] = [8, 32, 64, 32];
/** "Ed", no password, "B2"; the salt and limits of a password that there is not. */
const HEAD = Buffer.concat([Buffer.from("Ed\0\0B2", "latin1"), Buffer.alloc(32 + 8 + 8)]);

function fail(words: string): never {
  process.stderr.write(`${words}\n`);
  process.exit(1);
}

interface Key {
  id: Buffer;
  /** The seed, and the public key behind it. */
  secret: Buffer;
}

const checkOf = ({ id, secret }: Key) =>
  new Bun.CryptoHasher("blake2b256").update(Buffer.concat([Buffer.from("Ed"), id, secret])).digest();

const publicText = ({ id, secret }: Key) =>
  Buffer.concat([Buffer.from("Ed"), id, secret.subarray(SEED)]).toString("base64");

function make(file: string, checkout: string): void {
  const place = join(realpathSync(dirname(resolve(file))), basename(file));
  if (!relative(checkout, place).startsWith(".."))
    fail(`${file} is inside the checkout: a private key must not be there.`);
  const jwk = generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" });
  const secret = Buffer.concat([Buffer.from(jwk.d ?? "", "base64url"), Buffer.from(jwk.x ?? "", "base64url")]);
  const key = { id: randomBytes(ID), secret };
  const bytes = Buffer.concat([HEAD, key.id, key.secret, checkOf(key)]);
  const name = key.id.toString("hex").toUpperCase();
  writeFileSync(place, `untrusted comment: pombo release key ${name}, private\n${bytes.toString("base64")}\n`, {
    mode: 0o600,
    flag: "wx",
  });
  writeFileSync(`${place}.pub`, `untrusted comment: pombo release key ${name}\n${publicText(key)}\n`, { flag: "wx" });
  process.stdout.write(`${publicText(key)}\n`);
}

function read(file: string): Key {
  if ((statSync(file).mode & 0o077) !== 0) fail(`${file} can be read by others: chmod 600 ${file}`);
  const bytes = Buffer.from(readFileSync(file, "utf8").split("\n")[1] ?? "", "base64");
  if (bytes.length !== HEAD.length + ID + SECRET + CHECK || bytes.toString("latin1", 0, 2) !== "Ed")
    fail(`${file} is no private key of minisign's.`);
  if (bytes.readUInt16LE(2) !== 0)
    fail(`${file} has a password: sign with minisign (see the head of script/release-key).`);
  const [id, secret] = [bytes.subarray(HEAD.length, HEAD.length + ID), bytes.subarray(-SECRET - CHECK, -CHECK)];
  if (!checkOf({ id, secret }).equals(bytes.subarray(-CHECK))) fail(`${file} is damaged.`);
  return { id, secret };
}

/** Seconds since 1970: of the commit in a release (script/release), so that two of one commit are the same bytes. */
const timestamp = process.env["SOURCE_DATE_EPOCH"] ?? Math.floor(Date.now() / 1000);

async function signFile({ id, secret }: Key, file: string, version: string): Promise<void> {
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8_HEAD, secret.subarray(0, SEED)]),
    format: "der",
    type: "pkcs8",
  });
  const hash = createHash("blake2b512");
  for await (const chunk of createReadStream(file)) hash.update(chunk as Uint8Array);
  const bytes = sign(null, hash.digest(), privateKey);
  const comment = `version:${version}\tfile:${basename(file)}\ttimestamp:${timestamp}\thashed`;
  const global = sign(null, Buffer.concat([bytes, Buffer.from(comment)]), privateKey);
  const lines = [
    `untrusted comment: signature of pombo ${version}`,
    Buffer.concat([Buffer.from("ED"), id, bytes]).toString("base64"),
    `trusted comment: ${comment}`,
    global.toString("base64"),
  ];
  writeFileSync(`${file}.minisig`, `${lines.join("\n")}\n`);
  process.stdout.write(`${file}.minisig\n`);
}

const [checkout = "", verb, file, ...executables] = process.argv.slice(2);
if (
  file === undefined ||
  !["make", "public", "sign"].includes(verb ?? "") ||
  (verb === "sign") !== executables.length > 0
)
  fail("usage: script/release-key make FILE | public FILE | sign FILE EXECUTABLE…");
if (verb === "make") make(file, checkout);
else if (verb === "public") process.stdout.write(`${publicText(read(file))}\n`);
else {
  const { version } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8")) as { version: string };
  const key = read(file);
  for (const each of executables) await signFile(key, each, version);
}
