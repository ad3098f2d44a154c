// What a person sees on a terminal of 80 columns: help, tables, reasons and errors, with colours and without.
import { expect, setDefaultTimeout, test } from "bun:test";
import { COMMANDS } from "../../../src/cli/command-table.ts";
import { findPombo } from "../../support/peers/pombo.ts";
import { runPombo, within } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { call, createWorld, emailTo } from "./world.ts";

setDefaultTimeout(120_000);

const COLUMNS = 80;

interface Shown {
  code: number;
  /** Both outputs, as the terminal gets them. */
  text: string;
  lines: string[];
}

/** Runs a command on a terminal. */
async function onTerminal(args: string[], env: Record<string, string> = {}, cols = COLUMNS): Promise<Shown> {
  const decoder = new TextDecoder();
  let text = "";
  const { NO_COLOR: _, ...inherited } = process.env;
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const child = Bun.spawn([...findPombo().command, ...args], {
    env: { ...inherited, TERM: "xterm-256color", ...env },
    terminal: {
      ...{ cols, rows: 24 },
      data: (_terminal, bytes) => void (text += decoder.decode(bytes, { stream: true })),
      exit: () => resolve(),
    },
  });
  const code = await within(20_000, `pombo ${args.join(" ")}`, child.exited);
  child.terminal?.close();
  await within(5_000, "the end of the output", closed);
  text = text.replaceAll("\r\n", "\n");
  return { code, text, lines: Bun.stripANSI(text).trimEnd().split("\n") };
}

function expectFits(lines: string[], what: string): void {
  for (const line of lines) expect([what, line, Bun.stringWidth(line) <= COLUMNS]).toEqual([what, line, true]);
}

const words = (text: string) => text.split(/\s+/).join(" ");

test("the help of every command fits 80 columns and breaks at spaces only, for people and for programs", async () => {
  const groups = COMMANDS.map(({ name }) => name.split(" ")[0] ?? "");
  const topics = [[], ["exit-codes"], ...[...new Set(groups)].map((group) => [group])];
  for (const topic of topics) {
    const { code, stdout, stderr } = await runPombo(["help", ...topic]);
    expect([topic, code, stderr]).toEqual([topic, 0, ""]);
    expectFits(stdout.split("\n"), `help ${topic.join(" ")}`);
  }
  for (const { name, about, options } of COMMANDS) {
    const { code, stdout } = await runPombo([...name.split(" "), "--help"]);
    expect([name, code]).toEqual([name, 0]);
    expectFits(stdout.split("\n"), name);
    // A command that is also a group shows the group's help.
    expect(words(stdout)).toContain(words(about));
    const isGroup = groups.filter((group) => group === name).length > 1;
    for (const option of isGroup ? [] : Object.values(options))
      if ("about" in option) expect(words(stdout)).toContain(words(option.about));
    if (name !== "queue drop") continue;
    // A screen changes nothing, and a narrower one breaks at spaces too.
    expect((await onTerminal(["queue", "drop", "--help"])).lines).toEqual(stdout.trimEnd().split("\n"));
    const narrow = await onTerminal(["queue", "drop", "--help"], {}, 50);
    expect(words(narrow.text).trim()).toBe(words(stdout).trim());
  }
});

const REASON = "451 4.7.1 Greylisted, and the reason for it is much longer than what a column of a table could hold";

test("lists, reasons and errors fit the screen; ids are short, and are taken as they stand there", async () => {
  await using mx = await startCountingMx(() => REASON);
  await using world = await createWorld({ mxPort: mx.port });
  // None is tried again while it is looked at.
  const config = world.writeConfig("patient.toml", { email: { retry_schedule: ["1h"] } });
  await using served = await world.serve({ config });
  const place = ["--config", config];
  for (const to of ["a.rather.long.name.of.a.person@one.test", "b@two.test"])
    await call(served.url, world.key, { method: "POST", path: "/api/v1/emails", body: emailTo(to, "Hello") });
  await within(
    20_000,
    "two deferred emails",
    until(async () => (await listed(place)).every(({ lastReply }) => lastReply)),
  );
  for (const args of [
    ...[["status"], ["queue"], ["queue", "list"], ["queue", "list", "--sms"], ["workspace", "list"]],
    ...[
      ["workspace", "show", "Scenario"],
      ["domain", "list"],
      ["sms", "links"],
      ["suppression", "list", "Scenario"],
    ],
    ...[["suppression", "held"], ["credits", "list", "Scenario"], ["sender", "list", "Scenario"], ["inbox"]],
    ...[
      ["trace", "b@two.test"],
      ["trace", "0"],
      ["workspace", "show", "nobody"],
      ["workspace", "list", "--frob"],
    ],
  ]) {
    const { lines } = await onTerminal([...args, ...place]);
    // A word that has no room on a line, as a return path, is never broken.
    const breakable = lines.filter((line) => !/\S{60}/.test(line));
    expectFits(breakable, args.join(" "));
  }
  const queue = await onTerminal(["queue", "list", ...place]);
  expect(words(Bun.stripANSI(queue.text))).toContain(REASON);
  expect(queue.text).toContain("\u001b[33mdelivery_delayed\u001b[39m");
  const id = (await listed(place))[0]?.id ?? "";
  const shown = queue.lines.flatMap((line) => /^[0-9a-f-]{18,}/.exec(line)?.[0] ?? []);
  expect(shown).toHaveLength(2);
  const short = shown.find((each) => id.startsWith(each)) ?? "";
  expect((await runPombo(["trace", short, ...place])).stdout).toStartWith(`Email ${id}\n`);
  expect((await runPombo(["queue", "retry", short, ...place])).stdout).toBe("1 email is due now.\n");
  expect((await runPombo(["queue", "drop", short, "--yes", ...place])).stdout).toBe("1 email dropped.\n");
  expect(await listed(place)).toHaveLength(1);
  // The beginning that both have changes nothing.
  const before = await runPombo(["queue", "drop", id.slice(0, 8), "--yes", ...place]);
  expect([before.code, before.stdout]).toEqual([1, ""]);
  expect(before.stderr).toContain("matches several messages; give the id:");
});

/** The waiting emails, as a program sees them. */
async function listed(place: string[]): Promise<{ id: string; lastReply: string | null }[]> {
  return JSON.parse((await runPombo(["queue", "list", "--json", ...place])).stdout) as never;
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await Bun.sleep(50);
}

test("colours are on a terminal only, and not where they are unwanted", async () => {
  await using mx = await startCountingMx();
  await using world = await createWorld({ mxPort: mx.port });
  const place = ["--config", world.configFile];
  const wrong = ["workspace", "show", "nobody", ...place];
  const green = "\u001b[32mverified\u001b[39m";
  expect((await onTerminal(["domain", "list", ...place])).text).toContain(green);
  expect((await onTerminal(wrong)).text).toStartWith("\u001b[31mThere is no workspace");
  for (const env of [{ NO_COLOR: "1" }, { TERM: "dumb" }]) {
    expect((await onTerminal(["domain", "list", ...place], env)).text).not.toContain("\u001b");
    expect((await onTerminal(wrong, env)).text).not.toContain("\u001b");
  }
  expect((await runPombo(["domain", "list", ...place])).stdout).not.toContain("\u001b");
  expect((await runPombo(wrong)).stderr).not.toContain("\u001b");
  expect((await onTerminal(["domain", "list", "--json", ...place])).text).not.toContain("\u001b");
});
