// Where the instance that is updated writes to, opened for the next one.
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../support/db/temporary.ts";

const MODULE = JSON.stringify(join(import.meta.dir, "../../../src/cli/commands/update/instance.ts"));
/** By itself: what it waits for could not be broken off here. */
const PROGRAM = `
  const { openOutputs } = await import(${MODULE});
  const outputs = openOutputs(Number(process.argv[1]), (text) => console.log(text));
  for (const each of outputs) require("node:fs").writeSync(each, "next ");
`;

const openOutputs = (pid: number) => {
  const { stdout, exitCode } = Bun.spawnSync([process.execPath, "-e", PROGRAM, String(pid)], { timeout: 5_000 });
  return { exitCode, said: stdout.toString() };
};

test("a pipe that nobody reads any more is not waited for, and what is read is written on", async () => {
  using folder = temporaryFolder();
  const [pipe, log] = [join(folder.path, "pipe"), join(folder.path, "log")];
  Bun.spawnSync(["mkfifo", pipe]);
  writeFileSync(log, "before ");
  const reader = Bun.spawn(["cat", pipe], { stdout: "pipe", stderr: "ignore" });
  const command = `exec >"$1" 2>>"$2"; echo here; exec sleep 60`;
  const writer = Bun.spawn(["sh", "-c", command, "sh", pipe, log], { stdout: "ignore", stderr: "ignore" });
  try {
    const read = reader.stdout.getReader();
    await read.read();
    expect(openOutputs(writer.pid)).toEqual({ exitCode: 0, said: "" });
    expect(new TextDecoder().decode((await read.read()).value)).toBe("next ");
    reader.kill("SIGKILL");
    await reader.exited;
    expect(openOutputs(writer.pid)).toEqual({
      exitCode: 0,
      said: "The output of pombo cannot be opened again (ENXIO): the next pombo's is discarded.\n",
    });
    expect(readFileSync(log, "utf8")).toBe("before next next ");
  } finally {
    for (const child of [reader, writer]) {
      child.kill("SIGKILL");
      await child.exited;
    }
  }
});
