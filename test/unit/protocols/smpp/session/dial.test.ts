import { expect, test } from "bun:test";
import { dial } from "../../../../../src/protocols/smpp/session/connect.ts";
import { LINK_DEFAULTS } from "../../../../../src/protocols/smpp/settings.ts";
import { fakeClock } from "../../../../support/fakes/clock.ts";

test("a connection whose options are refused at once has failed, and no more", async () => {
  const settings = {
    ...LINK_DEFAULTS,
    host: "127.0.0.1",
    port: 1,
    tls: "verified",
    tlsName: null,
    tlsCa: "no certificate",
  } as const;
  const dialled = await dial(
    { settings, clock: fakeClock(0), lookUp: () => Promise.resolve([]), attempt: 0 },
    new AbortController().signal,
  );
  expect(dialled).toMatchObject({ kind: "failed" });
});
