// SMSCs of others, each a process of its own on a free port, and what each of them says of itself.

import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NET_SMPP } from "../packages.ts";
import { freePort, mustRun, startProcess, waitForListener, type Cleanup } from "../process.ts";
import { linesOf, type Line, type Submit } from "./line.ts";

export interface Smsc {
  readonly port: number;
  lines(): Line[];
  submits(): Submit[];
  stop(): Promise<void>;
}

export interface Place {
  /** Where it may keep files. */
  folder: string;
  cleanup: Cleanup;
}

/** The npm package `smpp`, as its makers have it. */
export async function startNpmSmsc(place: Place): Promise<Smsc> {
  const port = await freePort();
  return start("npm", { port, command: [process.execPath, join(import.meta.dir, "npm.ts"), String(port)] }, place);
}

/** Ours in Perl, over Net::SMPP. */
export async function startPerlSmsc(ids: "counter" | "constant", place: Place): Promise<Smsc> {
  const port = await freePort();
  const command = ["perl", join(import.meta.dir, "perl.pl"), String(port), ids];
  return start(`perl-${ids}`, { port, command }, place);
}

/** The one among the examples of Net::SMPP: one id for everything, and no receipts. It shows bytes, and decodes nothing. */
export async function startExampleSmsc(place: Place): Promise<Smsc & { shortMessages(): Buffer[] }> {
  const port = await freePort();
  const source = readFileSync(await exampleFile(place.folder), "latin1");
  const file = join(place.folder, "example-smsc.pl");
  // Its port is fixed; and it tells of what it reads only while it traces.
  const adapted = source
    .replace("$port = 9900", `$port = ${port}`)
    .replace("$trace = 0", "$trace = 1; $Data::Dumper::Useqq = 1; $Data::Dumper::Indent = 1");
  if (adapted === source) throw new Error("the example of Net::SMPP is not as it was");
  writeFileSync(file, adapted, "latin1");
  const log = join(place.folder, "example-smsc.log");
  const smsc = await start("example-smsc", { port, command: ["perl", file, "3"] }, place);
  return { ...smsc, shortMessages: () => shortMessagesIn(readFileSync(log, "latin1")) };
}

/** Systems without documentation have no examples either: the package is unpacked then. */
async function exampleFile(folder: string): Promise<string> {
  const path = "/usr/share/doc/libnet-smpp-perl/examples/smsc.pl";
  if (existsSync(path)) return path;
  const name = NET_SMPP.package;
  await mustRun(["sh", "-c", `cd '${folder}' && apt-get download -q ${name} && dpkg-deb -x ${name}_*.deb unpacked`]);
  const copy = join(folder, "smsc.pl");
  copyFileSync(join(folder, "unpacked", path), copy);
  return copy;
}

/** What Data::Dumper has written: a string of Perl's in double quotes. */
function shortMessagesIn(log: string): Buffer[] {
  return [...log.matchAll(/"short_message" => ("(?:[^"\\]|\\.)*"|\d+)/g)].map(([, quoted = ""]) => readQuoted(quoted));
}

function readQuoted(quoted: string): Buffer {
  if (!quoted.startsWith('"')) return Buffer.from(quoted, "latin1");
  const named: Record<string, string> = { n: "\n", r: "\r", t: "\t", f: "\f", b: "\b", a: "\x07", e: "\x1b" };
  const text = quoted.slice(1, -1).replace(/\\([0-7]{1,3}|x\{[0-9a-f]+\}|.)/gs, (_, code: string) => {
    if (/^[0-7]/.test(code)) return String.fromCharCode(Number.parseInt(code, 8));
    if (code.startsWith("x{")) return String.fromCharCode(Number.parseInt(code.slice(2), 16));
    return named[code] ?? code;
  });
  return Buffer.from(text, "latin1");
}

async function start(
  name: string,
  { port, command }: { port: number; command: string[] },
  { folder, cleanup }: Place,
): Promise<Smsc> {
  const running = startProcess({ command, logFile: join(folder, `${name}.log`) });
  cleanup.add(() => running.stop());
  try {
    await waitForListener(port);
  } catch (error) {
    throw new Error(`${name} does not listen: ${running.output()}`, { cause: error });
  }
  const lines = () => linesOf(running.output());
  const stop = () => running.stop();
  return { port, stop, lines, submits: () => lines().flatMap((line) => ("submit" in line ? [line.submit] : [])) };
}
