// The command line itself: what is understood, and what a person is told when it is not.
import { expect, test } from "bun:test";
import { runHere, startDesk, workspaceRecord } from "../../support/cli/kit.ts";

const GROUPS = {
  workspace: ["list", "create", "show", "plan", "sms", "rename", "block", "unblock", "delete"],
  key: ["create"],
  "operator-key": ["rotate"],
  credits: ["grant", "deduct", "list"],
  sender: ["list", "add", "remove"],
  suppression: ["list", "import", "export", "held"],
  domain: ["list", "add", "check", "suspend", "resume"],
};

test("help names every command, on standard output", async () => {
  for (const args of [[], ["help"], ["--help"], ["-h"]]) {
    const { code, out, err } = await runHere(args);
    expect([code, err]).toEqual([0, ""]);
    for (const name of ["dev", "init", "serve", "version", ...Object.keys(GROUPS)])
      expect(out).toContain(`  pombo ${name}`);
    expect(Math.max(...out.split("\n").map((line) => line.length))).toBeLessThanOrEqual(120);
  }
});

test("what a developer needs stands before what an operator does", async () => {
  const names = [...(await runHere(["help"])).out.matchAll(/^ {2}pombo (\w+(?: listen)?) /gm)].map(([, name]) => name);
  expect(names.slice(0, 4)).toEqual(["dev", "webhook listen", "init", "serve"]);
});

test("every command says how it is used, by --help anywhere and by help before it", async () => {
  for (const [group, members] of Object.entries(GROUPS)) {
    const overview = await runHere([group, "--help"]);
    expect(overview.code).toBe(0);
    for (const name of members) {
      expect(overview.out).toContain(`  pombo ${group} ${name}`);
      const own = await runHere([group, name, "--help"]);
      expect([own.code, own.err]).toEqual([0, ""]);
      expect(own.out).toStartWith(`Usage: pombo ${group} ${name}`);
      for (const option of ["--config FILE", "--data-dir DIR", "--json"]) expect(own.out).toContain(option);
      expect((await runHere(["help", group, name])).out).toBe(own.out);
      expect((await runHere([group, name, "something", "-h"])).out).toBe(own.out);
    }
  }
  expect((await runHere(["serve", "--help"])).out).toStartWith("Usage: pombo serve");
});

test("a word that is no command is told with those that are, and ends with 2", async () => {
  const unknown = await runHere(["frobnicate"]);
  expect([unknown.code, unknown.out]).toEqual([2, ""]);
  expect(unknown.err).toStartWith("pombo has no command frobnicate.");
  expect(unknown.err).toBe("pombo has no command frobnicate. pombo --help lists them all.\n");
  for (const [group, members] of Object.entries(GROUPS)) {
    const within = await runHere([group, "frobnicate"]);
    expect([within.code, within.out]).toEqual([2, ""]);
    expect(within.err).toStartWith(`pombo ${group} has no command frobnicate. It has: ${members.join(", ")}.`);
    const alone = await runHere([group]);
    expect(alone.code).toBe(2);
    expect(alone.err).toStartWith(`pombo ${group} needs a subcommand. It has: ${members.join(", ")}.`);
  }
  expect(await runHere(["help", "frobnicate"])).toEqual(unknown);
});

test("the nearest command is named, and the reason is not pushed off the screen by long help", async () => {
  const typo = "pombo has no command worksace. Did you mean workspace? pombo --help lists them all.\n";
  for (const args of [["worksace"], ["worksace", "list"], ["help", "worksace"]])
    expect(await runHere(args)).toEqual({ code: 2, out: "", err: typo });
  expect((await runHere(["create", "workspace"])).err).toBe(
    "pombo has no command create. Did you mean pombo workspace create or pombo key create? pombo --help lists them all.\n",
  );
  const words = "It has: list, pause, resume, retry, drop. pombo queue --help describes them.\n";
  expect((await runHere(["queue", "lst"])).err).toBe(`pombo queue has no command lst. Did you mean list? ${words}`);
  expect((await runHere(["inbox", "sow", "x"])).err).toStartWith("pombo inbox has no command sow. Did you mean show?");
  expect((await runHere(["sms", "link"])).err).toStartWith("pombo sms has no command link. Did you mean links?");
  expect((await runHere(["domain", "x"])).err).toStartWith("pombo domain has no command x. It has");
});

test("help on help is help", async () => {
  const help = await runHere(["help"]);
  for (const args of [
    ["help", "--help"],
    ["help", "help"],
    ["help", "-h"],
    ["--help", "--help"],
  ])
    expect(await runHere(args)).toEqual(help);
});

test.each([
  [["workspace", "create"], "NAME is missing."],
  [["workspace", "plan", "x"], "PLAN is missing."],
  [["credits", "grant"], "WORKSPACE and AMOUNT are missing."],
  [["workspace", "list", "x"], '"x" is one argument too many.'],
  [["workspace", "create", ""], "NAME must not be empty."],
  [["workspace", "list", "--frob"], "There is no option --frob."],
  [["queue", "list", "--tu", "x.test"], "There is no option --tu. Did you mean --to?"],
  [["queue", "list", "--to", "--sms"], "--to needs a value: --to TO."],
  [["workspace", "block", "x", "--reason"], "--reason needs a value: --reason TEXT."],
  [["workspace", "block", "x", "--reason", ""], "--reason needs a value: --reason TEXT."],
  [["workspace", "block", "x", "--hold=yes"], "--hold takes no value."],
  [["workspace", "create", "x", "-x"], "There is no option -x."],
  [["workspace", "list", "--data-dir="], "--data-dir needs a value: --data-dir DIR."],
  [["credits", "grant", "x", "much"], 'AMOUNT must be a whole number above 0, not "much".'],
  [["credits", "deduct", "x", "0"], 'AMOUNT must be a whole number above 0, not "0".'],
  [["credits", "grant", "x", "1.5"], 'AMOUNT must be a whole number above 0, not "1.5".'],
  [["credits", "grant", "x", "-5"], "There is no option -5."],
  [["suppression", "held", "--apply"], "--apply needs --workspace, --site or --all."],
  [["suppression", "held", "--drop"], "--drop needs --workspace, --site or --all."],
  [["suppression", "held", "--apply", "--drop", "--all"], "--apply and --drop cannot be combined."],
  [["suppression", "held", "x", "--workspace", "y"], "The workspace is given twice."],
  [["suppression", "held", "--apply", "--all", "--site", "y"], "--all cannot be combined with a workspace or --site."],
  ...["70000", "0x1f90", "8e3", " 80", "http"].map((port): [string[], string] => [
    ["dev", "--port", port],
    `--port must be a number from 0 to 65535, not ${port}.`,
  ]),
  [
    ["webhook", "listen", "--forward", "localhost:3000"],
    "--forward must be an address such as http://127.0.0.1:3000/hook, not localhost:3000.",
  ],
  [
    ["webhook", "listen", "--forward", "http:3000/hook"],
    "--forward must be an address such as http://127.0.0.1:3000/hook, not http:3000/hook.",
  ],
  [
    ["webhook", "listen", "--api", "http://127.0.0.1:8080/?x=1"],
    "--api must be an address without ? and #, such as http://127.0.0.1:8080, not http://127.0.0.1:8080/?x=1.",
  ],
  [
    ["webhook", "listen", "--api", "ftp://x"],
    "--api must be an address such as http://127.0.0.1:3000/hook, not ftp://x.",
  ],
  [["serve", "x"], '"x" is one argument too many.'],
])("pombo %j is refused with 2 and the command's usage, before anything is asked", async (args, reason) => {
  await using desk = startDesk(() => ({ data: [] }));
  const said = args.includes("--data-dir=") || args[0] === "webhook" ? await runHere(args) : await desk.run(args);
  const name = args[0] === "dev" || args[0] === "serve" ? args[0] : args.slice(0, 2).join(" ");
  expect([said.code, said.out]).toEqual([2, ""]);
  expect(said.err).toStartWith(`pombo ${name}: ${reason}\n\nUsage: pombo ${name}`);
  // The reason stays on the screen.
  expect(said.err).toEndWith(`\n\npombo ${name} --help describes it.\n`);
  expect(said.err.split("\n").length).toBeLessThan(10);
  expect(desk.asked).toEqual([]);
});

test.each([
  [["key", "operator", "--rotate"], "pombo key operator is now called pombo operator-key rotate."],
  [
    ["credits", "add", "x", "-5"],
    "pombo credits add is now called pombo credits grant (or pombo credits deduct, to take some away).",
  ],
  [["workspace", "sms", "x", "--fold", "portuguese"], "--fold is now called --transliterate."],
  [["serve", "--start-empty"], "--start-empty is now called --ignore-existing-backup."],
])("the former pombo %j is refused with 2 and its new name", async (args, reason) => {
  expect(await runHere(args)).toEqual({ code: 2, out: "", err: `${reason}\n` });
});

test("an API key on the command line is refused, and not repeated", async () => {
  const { code, out, err } = await runHere(["webhook", "listen", "--key", "svc_line"]);
  expect([code, out]).toEqual([2, ""]);
  expect(err).toMatch(/POMBO_KEY.*--key-file/);
  expect(err).not.toContain("svc_line");
});

test("a name may begin with a dash behind --", async () => {
  await using desk = startDesk(() => ({
    data: { ...workspaceRecord(), workspaceName: "-x", apiKey: { key: "k" } },
  }));
  expect((await runHere(["workspace", "create", "--json", "--data-dir", desk.folder, "--", "-x"])).code).toBe(0);
  expect(desk.asked.at(-1)?.body).toEqual({ name: "-x" });
});
