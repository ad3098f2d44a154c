// Every secret signs until its own grace is over, as the independent library of Standard Webhooks sees it.
import { expect, setDefaultTimeout, setSystemTime, test } from "bun:test";
import { type ReceivedCall, startReceiver, verify } from "../../support/fakes/receiver.ts";
import { errorItems } from "../../support/api/kit.ts";
import { HOUR, startCalled } from "../../support/api/webhook-kit.ts";

setDefaultTimeout(20_000);

/** Which of the secrets verify the call, by their places. */
function verifying(call: ReceivedCall | undefined, secrets: string[]): number[] {
  if (call === undefined) throw new Error("no call");
  // The library compares the time of the call with that of the system.
  setSystemTime(new Date(Number(call.headers["webhook-timestamp"]) * 1_000));
  const isGood = (secret: string) => {
    try {
      return verify(call, secret) !== undefined;
    } catch {
      return false;
    }
  };
  const places = secrets.flatMap((secret, place) => (isGood(secret) ? [place] : []));
  setSystemTime();
  return places;
}

async function startRotating() {
  const receiver = startReceiver();
  const on = await startCalled(receiver);
  const secrets = [on.secret];
  return {
    ...on,
    async rotate(body: object) {
      const answer = await on.pombo.workspace.call("POST", `${on.path}/rotate-secret`, { body });
      if (answer.status === 200) secrets.push(answer.body.data.secret);
      return answer;
    },
    /** The places of the secrets by which a call is signed now. */
    async signedBy() {
      const count = receiver.calls.length;
      await on.test();
      await receiver.until(() => receiver.calls.length > count);
      await on.idle();
      return verifying(receiver.calls.at(-1), secrets);
    },
    async [Symbol.asyncDispose]() {
      await on[Symbol.asyncDispose]();
      await receiver[Symbol.asyncDispose]();
    },
  };
}

test("a second rotation within the grace of the first leaves the first secret its own time", async () => {
  await using on = await startRotating();
  expect(await on.signedBy()).toEqual([0]);
  await on.rotate({});
  await on.advance(HOUR);
  await on.rotate({ graceHours: 2 });
  expect(await on.signedBy()).toEqual([0, 1, 2]);
  await on.advance(2 * HOUR);
  expect(await on.signedBy()).toEqual([0, 2]);
  await on.advance(21 * HOUR);
  expect(await on.signedBy()).toEqual([2]);
});

test("a rotation without grace ends every earlier secret at once", async () => {
  await using on = await startRotating();
  await on.rotate({ graceHours: 168 });
  await on.rotate({ graceHours: 0 });
  expect(await on.signedBy()).toEqual([2]);
});

test("a sixth secret beside five valid ones is refused with what can be done, and works when the first has ended", async () => {
  await using on = await startRotating();
  for (let hours = 1; hours <= 5; hours += 1) expect((await on.rotate({ graceHours: hours })).status).toBe(200);
  expect(await on.signedBy()).toEqual([0, 1, 2, 3, 4, 5]);
  const refused = await on.rotate({ graceHours: 1 });
  expect([refused.status, errorItems(refused)[0]]).toEqual([
    422,
    expect.objectContaining({
      code: "VALIDATION_ERROR",
      field: "graceHours",
      hint: expect.stringContaining("graceHours"),
    }),
  ]);
  // A refusal changes nothing.
  expect(await on.signedBy()).toEqual([0, 1, 2, 3, 4, 5]);
  await on.advance(HOUR);
  expect((await on.rotate({ graceHours: 1 })).status).toBe(200);
  expect(await on.signedBy()).toEqual([1, 2, 3, 4, 5, 6]);
});
