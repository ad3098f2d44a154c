// Mail that leaves by proxies of others, Dante and microsocks: each is broken, and mended as the step says.

import { type Proxy, startDante, startMicrosocks } from "../../../support/peers/socks5.ts";
import type { Cleanup } from "../../../support/peers/process.ts";
import type { Doctor, Lines, Settings } from "./kit.ts";
import { SELF, setPort25 } from "./network.ts";
import { HOST } from "./world.ts";

const ACCOUNT = { username: "pombo", password: "vento # do norte" };

export async function checkEgresses(options: {
  folder: string;
  doctor: Doctor;
  lines: Lines;
  cleanup: Cleanup;
}): Promise<void> {
  const { folder, doctor, lines, cleanup } = options;
  const id = "egress";
  const by = (name: string, rest: Record<string, string> = {}): Settings => ({
    egress: [{ name, address: SELF, hostname: HOST, ...rest }],
  });
  const places = { folder, from: SELF, cleanup };
  const expectBad = async (settings: Settings, what: string, words: RegExp) => {
    const found = lines.expect(await doctor.lookBefore(settings, id), { id, level: "problem", what });
    lines.claim(`${id}: ${what}: its step names that`, words.test(found?.step ?? ""), () => found?.step ?? "");
  };
  const expectCure = async (settings: Settings, what: string) =>
    void lines.expect(await doctor.lookBefore(settings, id), { id, level: "ok", what, isCure: true });

  let dante: Proxy = await startDante(places);
  const throughDante = by("dante", { proxy: `socks5://127.0.0.1:${dante.port}` });
  const restart = async (isClosed = false): Promise<void> => {
    await end(dante);
    dante = await startDante({ ...places, port: dante.port, isClosed });
  };
  lines.expect(await doctor.lookBefore(throughDante, id), { id, level: "ok", what: "through Dante" });
  await end(dante);
  await expectBad(throughDante, "Dante does not run", /See that the proxy runs/);
  await restart();
  await expectCure(throughDante, "Dante runs, as the step says");
  await restart(true);
  await expectBad(throughDante, "Dante's rules let nobody out", /that it allows CONNECT to port 25/);
  await restart();
  await expectCure(throughDante, "its rules allow it, as the step says");

  const { port } = await startMicrosocks({ ...places, ...ACCOUNT });
  const throughMicrosocks = (password: string) =>
    by("microsocks", { proxy: `socks5://${ACCOUNT.username}@127.0.0.1:${port}`, password });
  await expectBad(throughMicrosocks("sul"), "microsocks knows another password", /that user and password are right/);
  await expectCure(throughMicrosocks(ACCOUNT.password), "its password, as the step says");

  const direct = by("direct");
  await setPort25(false, "reject");
  await expectBad(
    direct,
    "the hoster of its address refuses port 25",
    /Ask the hoster of \S+ to open outgoing TCP port/,
  );
  await setPort25(true);
  await expectCure(direct, "the hoster opens it");
}

async function end(proxy: Proxy): Promise<void> {
  proxy.kill();
  await proxy.process.stop();
}
