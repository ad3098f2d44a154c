// Which workspace a person means.
import { expect, test } from "bun:test";
import { startDesk, workspaceRecord } from "../../support/cli/kit.ts";

const ALL = [
  { id: "01a1fd60-a478-7fc3-8fd7-7499a9ff2c17", name: "Loja" },
  { id: "01a1fd60-a478-7fc3-8fd7-7499a9ff2c18", name: "loja" },
  { id: "01b1fd60-a478-7fc3-8fd7-7499a9ff2c19", name: "Twice" },
  { id: "01c1fd60-a478-7fc3-8fd7-7499a9ff2c20", name: "Twice" },
  { id: "01d1fd60-a478-7fc3-8fd7-7499a9ff2c21", name: "01b1fd60" },
  { id: "01e1fd60-a478-7fc3-8fd7-7499a9ff2c22", name: "evil\u001b[2J" },
];

/** Two pages, so that what is unique on one may not be on both. */
function pages(line: string) {
  if (line.startsWith("GET /operator/workspaces?limit=100&cursor=next"))
    return { data: ALL.slice(3).map(workspaceRecord), meta: { has_more: false, next_cursor: null } };
  if (line.startsWith("GET /operator/workspaces?"))
    return { data: ALL.slice(0, 3).map(workspaceRecord), meta: { has_more: true, next_cursor: "next" } };
  const found = ALL.find(({ id }) => line === `GET /operator/workspaces/${id}`);
  return found === undefined
    ? { status: 404, errors: [{ code: "NOT_FOUND", message: "There is none" }] }
    : { data: workspaceRecord(found) };
}

async function show(wanted: string) {
  await using desk = startDesk(({ line }) => pages(line));
  const said = await desk.run(["workspace", "show", wanted, "--json"]);
  return { ...said, asked: desk.asked.map(({ line }) => line) };
}

test.each([
  ["Loja", ALL[0]],
  ["loja", ALL[1]],
  ["01b1fd60-", ALL[2]],
  ["01C1FD60", ALL[3]],
  ["01a1fd60-a478-7fc3-8fd7-7499a9ff2c18", ALL[1]],
  ["01A1FD60-A478-7FC3-8FD7-7499A9FF2C18", ALL[1]],
  ["evil\u001b[2J", ALL[5]],
])("%j is one workspace", async (wanted, expected) => {
  const { code, out } = await show(wanted);
  expect([code, JSON.parse(out)]).toEqual([0, workspaceRecord(expected)]);
});

test("a whole id is asked for as it is, without a list", async () => {
  expect((await show(ALL[0]!.id.toUpperCase())).asked).toEqual([`GET /operator/workspaces/${ALL[0]!.id}`]);
});

test.each([
  ["01a1fd60", [ALL[0], ALL[1]]],
  ["Twice", [ALL[2], ALL[3]]],
  // The beginning of one's id is the name of another.
  ["01b1fd60", [ALL[2], ALL[4]]],
])("%j may be several, which are named, and nothing is done", async (wanted, candidates) => {
  const { code, out, err, asked } = await show(wanted);
  expect([code, out]).toEqual([1, ""]);
  const lines = candidates.map((each) => `  ${each?.id}  ${each?.name}`);
  expect(err).toBe(`"${wanted}" matches several workspaces; give the id:\n${lines.join("\n")}\n`);
  expect(asked).toHaveLength(2);
});

test.each(["LOJA", "Loj", "01a1fd6", "01f1fd60", "%", "ffffffff-ffff"])("%j is none", async (wanted) => {
  const { code, err } = await show(wanted);
  expect(code).toBe(1);
  expect(err).toStartWith(
    `There is no workspace "${wanted}". Give its id, at least the first 8 characters of its id, or its exact name;`,
  );
});
