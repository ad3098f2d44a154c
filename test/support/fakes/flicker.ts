/** A process that lets `file` come and go as fast as it can, until it is disposed of. */
export async function flicker(file: string): Promise<AsyncDisposable> {
  const program = `
    const { renameSync } = require("node:fs");
    const [file, aside] = [process.argv[1], process.argv[1] + ".aside"];
    console.log("begins");
    for (;;) for (const [from, to] of [[file, aside], [aside, file]]) try { renameSync(from, to); } catch {}
  `;
  const child = Bun.spawn([process.execPath, "-e", program, file], { stdout: "pipe", stderr: "ignore" });
  await child.stdout.getReader().read();
  return {
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}
