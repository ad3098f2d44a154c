// The SMSC among the examples of jSMPP, a library for Java. Ids are hexadecimal and at random in its answers, and
// padded decimal in its receipts, which come a second later. Maven brings it and what it needs.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensureTools, pathOf, type Tool } from "../packages.ts";
import { freePort, run, startProcess, waitUntil } from "../process.ts";
import type { Place } from "./start.ts";

const JAVA: Tool[] = [
  { program: "java", package: "default-jre-headless" },
  { program: "mvn", package: "maven" },
];
const VERSION = "3.0.1";
const START_TIMEOUT_MS = 15_000;
const ACCOUNT = { systemId: "j", password: "jpwd" };

export interface Jsmpp {
  port: number;
  account: typeof ACCOUNT;
  /** What it has read so far, and how each was answered. */
  texts(): { text: string; id: string }[];
}

/** Or why it cannot be had. */
export async function startJsmpp({ folder, cleanup }: Place): Promise<Jsmpp | string> {
  const trouble = await ensureTools(JAVA);
  if (trouble !== null) return trouble;
  const root = join(folder, "jsmpp");
  mkdirSync(root);
  writeFileSync(join(root, "pom.xml"), PROJECT);
  const jars = join(root, "jars");
  const goal = ["dependency:copy-dependencies", `-DoutputDirectory=${jars}`];
  const brought = await run([pathOf("mvn"), "-q", "-B", "-f", join(root, "pom.xml"), ...goal]);
  if (brought.exitCode !== 0) return `Maven could not bring jSMPP:\n${brought.output.slice(-1000)}`;
  const port = await freePort();
  const command = [pathOf("java"), `-Djsmpp.simulator.port=${port}`, "-cp", `${jars}/*`];
  const running = startProcess({
    command: [...command, "org.jsmpp.examples.SMPPServerSimulator"],
    logFile: join(root, "log"),
  });
  cleanup.add(() => running.stop());
  // A connection to try it would keep it from all others for half a minute: it waits for one bind at a time.
  await waitUntil("jSMPP listens", START_TIMEOUT_MS, () => running.output().includes("Listening on port"));
  return {
    port,
    account: ACCOUNT,
    texts: () =>
      [...running.output().matchAll(/Receiving submit_sm '(.*)', and return message id (\S+)/g)].map(
        ([, text = "", id = ""]) => ({ text, id }),
      ),
  };
}

const PROJECT = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>pombo</groupId>
  <artifactId>interop</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.jsmpp</groupId><artifactId>jsmpp-examples</artifactId><version>${VERSION}</version></dependency>
  </dependencies>
</project>
`;
