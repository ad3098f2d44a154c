import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findPombo } from "../../support/peers/pombo.ts";

test("a log reader that goes away does not end the instance", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pombo-log-"));
  const command = [...findPombo().command, "dev", "--port", "0", "--json"];
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "pipe", env: { ...process.env, TMPDIR: folder } });
  try {
    const reader = child.stdout.getReader();
    const { value } = await reader.read();
    const { url, apiKey, domain } = JSON.parse(Buffer.from(value ?? []).toString()) as Record<string, string>;
    await reader.cancel();
    await child.stderr.cancel();
    for (let nth = 0; nth < 3; nth++) {
      const sent = await fetch(`${url}/api/v1/emails`, {
        method: "POST",
        headers: { "x-api-key": apiKey ?? "", "content-type": "application/json" },
        body: JSON.stringify({ from: `loja@${domain}`, to: "maria@example.com", subject: "Olá", text: "x" }),
      });
      expect(sent.status).toBe(202);
    }
    const deadline = Date.now() + 10_000;
    let arrived: unknown[] = [];
    while (arrived.length < 3 && Date.now() < deadline) {
      arrived = (await (await fetch(`${url}/sandbox/messages`)).json()) as unknown[];
    }
    expect(arrived).toHaveLength(3);
    expect(child.exitCode).toBeNull();
  } finally {
    child.kill("SIGTERM");
    await child.exited;
    rmSync(folder, { recursive: true, force: true });
  }
});
