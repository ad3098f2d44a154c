// The commands of README and docs about what an email can carry, pasted into a shell beside a sandbox.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import { Cleanup, makeFolder } from "../../support/peers/process.ts";

const ROOT = join(import.meta.dir, "../../..");

const sandbox = useSandbox();

/** The shell commands of a page, or of what stands there under a heading. */
function readCommands(file: string, heading = ""): string[] {
  const page = readFileSync(join(ROOT, file), "utf8");
  const [, part = ""] = heading === "" ? ["", page] : page.split(`### ${heading}\n`);
  const [section = ""] = heading === "" ? [part] : part.split(/^### /m);
  return [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, code = ""]) => code);
}

/** Runs the commands in their order, `ID` being that of the first answer; what each block wrote. */
async function paste(commands: string[], folder: string): Promise<string[]> {
  const { url, apiKey, submission } = sandbox();
  const outputs: string[] = [];
  let id = "";
  for (const command of commands) {
    const here = command
      .replaceAll("http://127.0.0.1:8080", url)
      .replaceAll("127.0.0.1:2587", submission)
      .replaceAll(/\bID\b/g, id);
    const shell = Bun.spawn(["sh", "-c", here], {
      cwd: folder,
      env: { PATH: process.env["PATH"], POMBO_KEY: apiKey },
      stderr: "inherit",
    });
    const output = await new Response(shell.stdout).text();
    expect([here, output, await shell.exited]).toEqual([here, expect.not.stringContaining('"errors"'), 0]);
    id ||= /"id":"([^"]+)"/.exec(output)?.[1] ?? "";
    outputs.push(output);
  }
  return outputs;
}

async function withFolder<T>(run: (folder: string) => Promise<T>): Promise<T> {
  const cleanup = new Cleanup();
  try {
    return await run(makeFolder("pasted", cleanup));
  } finally {
    await cleanup.close();
  }
}

journey(
  "the README's email with everything arrives in a minute, with its file, at all whom it names",
  async ({ visit }) => {
    const commands = readCommands("README.md", "An email with everything");
    expect(commands).toHaveLength(1);
    const pdf = await withFolder(async (folder) => {
      const [answer = ""] = await paste(commands, folder);
      const { recipients } = JSON.parse(answer).data;
      expect(recipients.map((each: { kind: string; status: string }) => `${each.kind} ${each.status}`)).toEqual([
        "to scheduled",
        "cc scheduled",
        "bcc scheduled",
      ]);
      return readFileSync(join(folder, "recibo.pdf"));
    });
    const visitor = await visit(sandbox().origin);
    const { page } = visitor;
    await page.goto("/sandbox");
    const copies = page.locator("#messages li", { hasText: "O seu recibo" });
    await copies.getByText("scheduled").nth(2).waitFor();
    await copies.getByText("delivered").nth(2).waitFor({ timeout: 80_000 });
    for (const address of ["maria@example.com", "contas@example.com", "arquivo@example.com"]) {
      await copies.filter({ hasText: address }).locator("button").click();
      await page.locator("#recipient").getByText(address, { exact: true }).waitFor();
      await page.locator("#tab-attachments").click();
      const coming = page.waitForEvent("download");
      await page.getByRole("link", { name: "Download recibo.pdf" }).click();
      expect(readFileSync(await (await coming).path())).toEqual(pdf);
    }
  },
  150_000,
);

test("the commands of each page work as pasted, one after the other", async () => {
  const recipients = await withFolder((folder) => paste(readCommands("docs/recipients.md"), folder));
  expect(recipients[1]?.match(/"status":"/g)).toHaveLength(4);
  const attachments = await withFolder(async (folder) => {
    const outputs = await paste(readCommands("docs/attachments.md"), folder);
    return [...outputs, readFileSync(join(folder, "recibo.pdf"), "latin1")];
  });
  expect(attachments[2]).toStartWith("%PDF-1.4");
  const scheduling = await withFolder((folder) => paste(readCommands("docs/scheduling.md"), folder));
  expect(scheduling[0]).toContain('"status":"scheduled"');
  expect(scheduling[1]?.match(/"status":"[a-z]+"/g)).toEqual(['"status":"scheduled"', '"status":"canceled"']);
}, 60_000);

test("the README's message by SMTP is taken as pasted, with its tag", async () => {
  const commands = readCommands("README.md", "From WordPress, Laravel, Django …");
  expect(commands).toHaveLength(1);
  await withFolder((folder) => paste(commands, folder));
  const { url, apiKey } = sandbox();
  const found = await fetch(`${url}/api/v1/emails?tag=order`, { headers: { "x-api-key": apiKey } });
  const [listed, ...others] = ((await found.json()) as { data: { id: string }[] }).data;
  const email = await fetch(`${url}/api/v1/emails/${listed?.id}`, { headers: { "x-api-key": apiKey } });
  expect(others).toEqual([]);
  expect(((await email.json()) as { data: object }).data).toMatchObject({
    source: "smtp",
    subject: "A sua encomenda",
    text: expect.stringMatching(/^Está a caminho\.\s+$/),
    tag: "order",
  });
});
