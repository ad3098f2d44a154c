// A site that is held must not keep its mail from failing when its time is over.
import { expect, setDefaultTimeout, test } from "bun:test";
import { within } from "./child.ts";
import { HOUR_MS, MINUTE_MS, pass, record, send, startStill } from "./mail.ts";

setDefaultTimeout(30_000);

test("mail to a suspended site fails when its life is over, not when the site is open again", async () => {
  await using pombo = await startStill({
    mx: { mail: "421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to user complaints" },
    configure: (config) => {
      config.email.lifetimeMs = 20 * MINUTE_MS;
      config.email.retryScheduleMs = [HOUR_MS];
    },
  });
  pombo.dns.zone["example.com"] = { MX: [[10, "mta5.am0.yahoodns.net"]] };
  pombo.dns.zone["mta5.am0.yahoodns.net"] = { A: ["127.0.0.1"] };
  const first = await send(pombo, "a@example.com");
  await within(10_000, "the suspension", pombo.app.worker.idle());
  pombo.clock.advance(5 * MINUTE_MS);
  const second = await send(pombo, "b@example.com");
  await within(10_000, "nothing to do", pombo.app.worker.idle());
  expect(await record(pombo, second)).toMatchObject({ status: "queued", attempts: 0 });

  await pass(pombo, 16 * MINUTE_MS);
  expect(await record(pombo, first)).toMatchObject({ status: "failed", bounce: { category: "expired" } });
  expect(await record(pombo, second)).toMatchObject({ status: "queued", attempts: 0 });
  await pass(pombo, 5 * MINUTE_MS);
  expect(await record(pombo, second)).toMatchObject({ status: "failed", bounce: { category: "expired" }, attempts: 0 });
  expect(pombo.mx.connections).toHaveLength(1);
});
