// Composed messages of every shape (test/support/mime/shapes.ts), read back by Python's email and by Angus Mail for Java,
// and signed and taken by Postfix, where OpenDKIM and mailauth verify them.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { signMessage } from "../../../src/protocols/dkim/sign.ts";
import { composeMessage, type MessageSource } from "../../../src/protocols/mime/compose.ts";
import { domainKeys } from "../../support/dkim/support.ts";
import type { Zone } from "../../support/fakes/zone.ts";
import { readByMailparser } from "../../support/mime/readers.ts";
import {
  comparableText,
  HOSTILE,
  makeShapes,
  OWN_FIELDS,
  type ReadMail,
  toReadMail,
} from "../../support/mime/shapes.ts";
import { ensureTools, pathOf, type Tool } from "../../support/peers/packages.ts";
import { mustRun, run } from "../../support/peers/process.ts";
import { checkSignatures } from "../../support/peers/zone.ts";
import type { Checks } from "./checks.ts";
import { MX_DOMAIN, type Mx } from "./mx.ts";
import { openDkimVerdicts } from "./received.ts";

export const SHAPES_USER = "shapes";
const DOMAIN = "exemplo.co.mz";
const PYTHON: Tool[] = [{ program: "python3", package: "python3-minimal" }];
const JAVA: Tool[] = [
  { program: "java", package: "default-jdk-headless" },
  { program: "mvn", package: "maven" },
];
const READERS = join(import.meta.dir, "readers");

interface Written {
  kind: string;
  name: string;
  source: MessageSource;
  file: string;
}

/** The short form leaves Java out. */
export async function checkReaders(options: {
  folder: string;
  mx: Mx;
  zone: Zone;
  checks: Checks;
  isSmoke: boolean;
}): Promise<void> {
  const { checks, isSmoke } = options;
  const folder = join(options.folder, "shapes");
  mkdirSync(folder);
  const written = Object.entries(HOSTILE).flatMap(([kind, hostile], i) =>
    makeShapes(hostile).map(({ name, source }, n): Written => {
      const file = join(folder, `${i}-${n}.eml`);
      writeFileSync(file, composeMessage(source));
      return { kind, name, source, file };
    }),
  );
  await checks.group("readers: Python", () =>
    checkReader("Python's email", written, checks, (files) => readByPython(files)),
  );
  const missing = isSmoke ? "it is not part of the short form" : await ensureTools(JAVA);
  if (missing !== null) console.log(`left out Angus Mail: ${missing}`);
  else {
    await checks.group("readers: Java", () =>
      checkReader("Angus Mail", written, checks, (files) => readByJava(files, folder)),
    );
  }
  await checks.group("shapes to Postfix", () => checkShapesArrive({ ...options, folder }));
}

type Reader = (files: string[]) => Promise<string>;

async function checkReader(reader: string, written: Written[], checks: Checks, read: Reader): Promise<void> {
  const output = await read(written.map(({ file }) => file));
  const lines = output.split("\n").filter((line) => line.startsWith("{"));
  checks.equal(`${reader}: as many messages as written`, lines.length, written.length);
  for (const kind of Object.keys(HOSTILE)) {
    const wrong = written.flatMap(({ source, name, kind: own }, i) => {
      if (own !== kind) return [];
      const difference = findDifference(toComparable(JSON.parse(lines[i] ?? "{}") as ReadMail), toReadMail(source));
      return difference === null ? [] : [`${name}: ${difference}`];
    });
    checks.claim(`${reader}: each shape as it was written, with ${kind}`, wrong.length === 0, () => wrong.join("; "));
  }
}

export function toComparable(mail: ReadMail): ReadMail {
  const text = (each: string | null) => (each === null ? null : comparableText(each));
  return { ...mail, text: text(mail.text), html: text(mail.html) };
}

export function findDifference(seen: ReadMail, wanted: ReadMail): string | null {
  for (const key of Object.keys(wanted) as (keyof ReadMail)[]) {
    if (Bun.deepEquals(seen[key], wanted[key])) continue;
    return `${key} is ${JSON.stringify(seen[key])}, and was ${JSON.stringify(wanted[key])}`;
  }
  return null;
}

/** A line of JSON for each file, with these fields of its header. */
export async function readByPython(files: string[], fields = OWN_FIELDS): Promise<string> {
  const trouble = await ensureTools(PYTHON);
  if (trouble !== null) throw new Error(trouble);
  return await mustRun([pathOf("python3"), join(READERS, "read_mail.py"), JSON.stringify(fields), ...files]);
}

/** Maven brings the library, and java compiles the reader as it starts it. */
async function readByJava(files: string[], folder: string): Promise<string> {
  const jars = join(folder, "jars");
  const goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", `-DoutputDirectory=${jars}`];
  const brought = await run([pathOf("mvn"), "-q", "-B", "-f", join(READERS, "pom.xml"), ...goal]);
  if (brought.exitCode !== 0) throw new Error(`Maven could not bring Angus Mail:\n${brought.output.slice(-1000)}`);
  const command = [pathOf("java"), "-cp", `${jars}/*`, join(READERS, "ReadMail.java")];
  return await mustRun([...command, ...OWN_FIELDS, "--", ...files]);
}

/** One of each shape, of the hardest kind to fold. */
async function checkShapesArrive(options: { folder: string; mx: Mx; zone: Zone; checks: Checks }): Promise<void> {
  const { folder, mx, zone, checks } = options;
  const { keys, records } = await domainKeys(DOMAIN);
  for (const [name, strings] of Object.entries(records)) zone[name] = { TXT: strings };
  const shapes = makeShapes(HOSTILE["a long word beyond ASCII"] ?? "");
  for (const [i, { source }] of shapes.entries()) {
    const message = composeMessage({ ...source, messageId: `${i}@${DOMAIN}` });
    const file = join(folder, `signed-${i}.eml`);
    writeFileSync(file, Buffer.concat([await signMessage(message, keys, Date.now()), message]));
    const envelope = ["--from", `a@${DOMAIN}`, "--to", `${SHAPES_USER}@${MX_DOMAIN}`];
    await mustRun([pathOf("swaks"), "--server", `127.0.0.1:${mx.port}`, "--tls", ...envelope, "--data", `@${file}`]);
  }
  const arrived = await mx.allMailOf(SHAPES_USER, shapes.length);
  for (const [i, { name, source }] of shapes.entries()) {
    const found = arrived.find((each) => each.includes(`\r\nMessage-ID: <${i}@${DOMAIN}>\r\n`));
    if (!checks.claim(`${name}: Postfix takes it`, found !== undefined) || found === undefined) continue;
    const byOpenDkim = openDkimVerdicts(found, DOMAIN).map(([, result]) => result);
    checks.equal(`${name}: OpenDKIM passes both signatures`, byOpenDkim, ["pass", "pass"]);
    const byMailauth = (await checkSignatures(found, zone)).map(({ result }) => result);
    checks.equal(`${name}: mailauth passes both`, byMailauth, ["pass", "pass"]);
    checks.equal(
      `${name}: arrives as it was written`,
      findDifference(await readByMailparser(found), toReadMail(source)),
      null,
    );
  }
}
