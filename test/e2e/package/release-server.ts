// Serves a release folder for script/release-check, whole and with faults, on ports 443 and 80 of its own network.
//   bun release-server.ts RELEASE CERTIFICATE KEY
// The first folder of a path says how it is served:
//   /good/      as it is
//   /checksum/  each FILE.sha256 is another file's
//   /changed/   each executable has one more octet, and its checksum fits
//   /unsigned/  no FILE.minisig is there
//   /missing/   nothing is there
//   /cut/       the connection ends in the middle of each file
//   /cut-late/  the same, but of install.sh only the last octets are missing
//   /http/      redirected to http://, where the same file is
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createServer as createPlain, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer } from "node:https";
import { basename, join } from "node:path";

const [release = "", certificate = "", key = ""] = process.argv.slice(2);
const HOST = "releases.test";

function readChanged(name: string): Buffer {
  const executable = Buffer.concat([readFileSync(join(release, name.replace(/\.sha256$/, ""))), Buffer.from("x")]);
  if (!name.endsWith(".sha256")) return executable;
  return Buffer.from(`${createHash("sha256").update(executable).digest("hex")}  ${name}\n`);
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const path = new URL(request.url ?? "/", `https://${HOST}`).pathname;
  const [, kind = ""] = path.split("/");
  const name = basename(path);
  if (kind === "http") {
    response.writeHead(302, { location: `http://${HOST}/good/${name}` }).end();
    return;
  }
  const isMissing =
    kind === "missing" || !existsSync(join(release, name)) || (kind === "unsigned" && name.endsWith(".minisig"));
  if (isMissing) {
    response.writeHead(404).end();
    return;
  }
  let bytes: Buffer = readFileSync(join(release, name));
  if (kind === "checksum" && name.endsWith(".sha256")) bytes = Buffer.from(`${"0".repeat(64)}  ${name}\n`);
  if (kind === "changed" && /^pombo-[a-z0-9-]+(\.sha256)?$/.test(name)) bytes = readChanged(name);
  response.writeHead(200, { "content-length": bytes.length });
  if (kind === "cut") response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
  else if (kind === "cut-late") response.write(bytes.subarray(0, -3), () => response.destroy());
  else response.end(bytes);
}

createServer({ cert: readFileSync(certificate), key: readFileSync(key) }, answer).listen(443, () =>
  createPlain(answer).listen(80, () => console.log("serving")),
);
