// `pombo trace`: what a person is told when what they wrote cannot be looked for.
import { expect, test } from "bun:test";
import { runHere, startDesk } from "../../support/cli/kit.ts";

test("what cannot be looked for is named as it was written, not by the API's parameter", async () => {
  await using desk = startDesk(() => ({
    status: 422,
    errors: [{ message: "find is neither the beginning of an id, nor an address", field: "find", hint: "Write one." }],
  }));
  const { code, err } = await runHere(["trace", "nope", "--data-dir", desk.folder]);
  expect([code, err]).toEqual([1, '"nope" is neither the beginning of an id, nor an address. Write one.\n']);
});
