// Lists of suppressions out of a file and into one.
import { expect, test } from "bun:test";
import type { Json } from "../../support/fakes/instance.ts";
import { type Asked, type Scripted, startDesk } from "../../support/cli/kit.ts";

const W = "01a1fd60-a478-7fc3-8fd7-7499a9ff2c17";
const IMPORT = `POST /operator/workspaces/${W}/suppressions/import`;
const TIME = "2026-01-31T08:15:00.000Z";

/** Takes every import, and counts addresses that begin with "old" as there already. */
function takeAll({ line, body }: Asked): Scripted {
  expect(line).toBe(IMPORT);
  const alreadyThere = body.suppressions.filter(({ address }: Json) => address.startsWith("old")).length;
  return { data: { imported: body.suppressions.length - alreadyThere, alreadyThere } };
}

const bodies = (asked: Asked[]): Json[] => asked.map(({ body }) => body.suppressions);

test("CSV, lines of JSON and bare addresses are imported, from a file and from standard input", async () => {
  await using desk = startDesk(takeAll);
  const csv = `reason,address\r\nhard_bounce,"a@x.test"\r\n,old@x.test\r\n`;
  expect(await desk.run(["suppression", "import", W, desk.write("list.csv", csv)])).toEqual({
    code: 0,
    out: "1 address imported; 1 was on the list already.\n",
    err: "",
  });
  expect(bodies(desk.asked)).toEqual([[{ reason: "hard_bounce", address: "a@x.test" }, { address: "old@x.test" }]]);
  const row = { address: "a@x.test", channel: "email", reason: "complaint", suppressedAt: TIME };
  const json = `${JSON.stringify(row)}\n{"address":"+258841234567","channel":"sms"}\n`;
  const piped = await desk.run(["suppression", "import", W, "-", "--json"], { input: json });
  expect(piped).toEqual({ code: 0, out: '{"imported":2,"alreadyThere":0,"skipped":0}\n', err: "" });
  expect(bodies(desk.asked)[1]).toEqual([row, { address: "+258841234567", channel: "sms" }]);
  expect((await desk.run(["suppression", "import", W, "-"], { input: "b@x.test\n" })).out).toBe(
    "1 address imported.\n",
  );
});

const FAULTY = [
  "address,channel,reason,suppressedAt",
  "good@x.test,,,",
  "nobody,,,",
  "a@x.test,email,because,",
  "a@x.test,email",
  "a@x.test,sms,hard_bounce,yesterday",
  "fine@x.test,email,manual,2026-01-31T08:15:00Z",
  `"a@x.test"x,,,`,
  "ev\u001bil@x.test,,,",
].join("\n");

test("every faulty line is named with its number and all that is wrong, and nothing is imported", async () => {
  await using desk = startDesk(takeAll);
  const { code, out, err } = await desk.run(["suppression", "import", W, "-"], { input: FAULTY });
  expect([code, out]).toEqual([1, ""]);
  const numbers = [...err.matchAll(/^line (\d+): /gm)].map(([, number]) => Number(number));
  expect([...new Set(numbers)]).toEqual([3, 4, 5, 6, 8, 9]);
  expect(err).toEndWith("Nothing was imported. Correct these 6 lines, or skip them with --skip-invalid.\n");
  expect(err).toContain("line 3: address is neither an email address nor a phone number");
  expect(err).toContain("line 4: reason must be ");
  expect(err).toContain("line 5: it has 2 values where address,channel,reason,suppressedAt is expected");
  expect(err).toMatch(/line 6: address .*channel/);
  expect(err).toContain("line 6: suppressedAt must be a time");
  expect(err).not.toContain("\u001b");
  expect(desk.asked).toEqual([]);
});

test("with --skip-invalid faulty lines are named and left out", async () => {
  await using desk = startDesk(takeAll);
  const { code, out, err } = await desk.run(["suppression", "import", W, "-", "--skip-invalid"], { input: FAULTY });
  expect([code, out]).toEqual([0, "2 addresses imported; 6 faulty lines skipped.\n"]);
  expect(err).toContain("line 3: ");
  expect(err).not.toContain("Nothing was imported");
  expect(bodies(desk.asked)).toEqual([
    [
      { address: "good@x.test" },
      { address: "fine@x.test", channel: "email", reason: "manual", suppressedAt: "2026-01-31T08:15:00Z" },
    ],
  ]);
});

test("a quotation mark that is never closed refuses the whole file, also with --skip-invalid", async () => {
  await using desk = startDesk(takeAll);
  const said = await desk.run(["suppression", "import", W, "-", "--skip-invalid"], {
    input: 'address\na@x.test\n"b@x.test\n',
  });
  expect(said).toEqual({
    code: 1,
    out: "",
    err: "Nothing was imported: line 3: a quotation mark is opened and never closed.\n",
  });
  expect(desk.asked).toEqual([]);
});

test("a long list goes in shares of 500, in its order", async () => {
  await using desk = startDesk(takeAll);
  const addresses = Array.from({ length: 1_203 }, (_, index) => `a${index}@x.test`);
  const { out } = await desk.run(["suppression", "import", W, "-"], { input: addresses.join("\n") });
  expect(out).toBe("1,203 addresses imported.\n");
  expect(bodies(desk.asked).map((body) => body.length)).toEqual([500, 500, 203]);
  expect(
    bodies(desk.asked)
      .flat()
      .map(({ address }) => address),
  ).toEqual(addresses);
});

/** An instance whose rules are others than ours: it refuses addresses that begin with "bad". */
function refuseBad(asked: Asked): Scripted {
  const errors = asked.body.suppressions.flatMap(({ address }: Json, index: number) =>
    address.startsWith("bad")
      ? [
          {
            code: "VALIDATION_ERROR",
            message: "address is bad",
            field: "address",
            path: `suppressions[${index}].address`,
          },
        ]
      : [],
  );
  return errors.length > 0 ? { status: 422, errors } : takeAll(asked);
}

test("what only the instance finds faulty is named by its line too, with what was done before", async () => {
  await using desk = startDesk(refuseBad);
  const list = Array.from({ length: 600 }, (_, index) => (index === 550 ? "bad@x.test" : `a${index}@x.test`)).join(
    "\n",
  );
  expect(await desk.run(["suppression", "import", W, "-"], { input: list })).toEqual({
    code: 1,
    out: "",
    err: "line 551: address is bad.\nBefore that, 500 addresses were imported. Correct this, and import the same file again.\n",
  });
  expect(await desk.run(["suppression", "import", W, "-", "--skip-invalid"], { input: list })).toEqual({
    code: 0,
    out: "599 addresses imported; 1 faulty line skipped.\n",
    err: "line 551: address is bad.\n",
  });
});

test("a file that is not there, is a folder or too large is told", async () => {
  await using desk = startDesk(takeAll);
  expect((await desk.run(["suppression", "import", W, `${desk.folder}/none.csv`])).err).toContain(
    "none.csv cannot be read (ENOENT",
  );
  expect((await desk.run(["suppression", "import", W, desk.folder])).err).toContain("cannot be read (EISDIR");
  const large = "x".repeat(64 * 1024 * 1024 + 1);
  expect(await desk.run(["suppression", "import", W, "-"], { input: large })).toEqual({
    code: 1,
    out: "",
    err: "- is larger than 64 MiB: split it.\n",
  });
  expect(await desk.run(["suppression", "import", W, "-"], { input: "" })).toMatchObject({
    code: 0,
    out: "0 addresses imported.\n",
  });
  expect(desk.asked).toEqual([]);
});

const ROWS = [
  { address: "a@x.test", reason: "manual", channel: "email", list: "news", suppressedAt: TIME },
  { address: '"odd, one"@x.test', reason: "complaint", channel: "email", list: null, suppressedAt: TIME },
];

/** Two pages. */
const twoPages = ({ line }: Asked): Scripted =>
  line.includes("cursor=")
    ? { data: [ROWS[1]], meta: { next_cursor: null } }
    : { data: [ROWS[0]], meta: { next_cursor: "next" } };

test("the export is CSV by RFC 4180, or a line of JSON each, page by page", async () => {
  await using desk = startDesk(twoPages);
  expect(await desk.run(["suppression", "export", W, "--channel", "email"])).toEqual({
    code: 0,
    out: `address,channel,reason,suppressedAt,list\r\na@x.test,email,manual,${TIME},news\r\n"""odd, one""@x.test",email,complaint,${TIME},\r\n`,
    err: "",
  });
  expect(desk.asked.map(({ line }) => line)).toEqual([
    `GET /operator/workspaces/${W}/suppressions?channel=email&limit=100`,
    `GET /operator/workspaces/${W}/suppressions?channel=email&limit=100&cursor=next`,
  ]);
  const { out } = await desk.run(["suppression", "export", W, "--json"]);
  expect(
    out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual(ROWS);
});

test("an empty export is its header alone, and no line of JSON", async () => {
  await using desk = startDesk(() => ({ data: [], meta: { next_cursor: null } }));
  expect((await desk.run(["suppression", "export", W])).out).toBe("address,channel,reason,suppressedAt,list\r\n");
  expect((await desk.run(["suppression", "export", W, "--json"])).out).toBe("");
});

test.each([[], ["--json"]])("what export writes, import reads %j", async (...form) => {
  await using from = startDesk(twoPages);
  const { out } = await from.run(["suppression", "export", W, ...form]);
  await using to = startDesk(takeAll);
  expect((await to.run(["suppression", "import", W, "-"], { input: out })).out).toBe("2 addresses imported.\n");
  // CSV leaves out what is null.
  expect(bodies(to.asked).map((rows) => rows.map((row: Json) => ({ list: null, ...row })))).toEqual([ROWS]);
});
