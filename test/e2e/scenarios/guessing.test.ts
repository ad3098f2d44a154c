// A thousand passwords are guessed at as many accounts from as many networks at once: the process grows by no more than
// the few that are checked at a time, and a person who was here before is let in at the first try.
import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { operatorApi, startPombo } from "../../support/peers/pombo.ts";
import { Cleanup, makeFolder } from "../../support/peers/process.ts";

const GUESSES = 1_000;
const AT_ONCE = 64;
const WARM_UP = 40;
/** Each that is checked takes 19 MiB, and two are at once; the rest is what a thousand requests leave to be collected. */
const MAX_GROWTH_MB = 100;
const HOST = "mail.example.net";
const PASSWORD = "quatro pombos no telhado";
const HOME = "198.51.100.1";

setDefaultTimeout(120_000);

test("guessing costs little memory, and keeps nobody out", async () => {
  const cleanup = new Cleanup();
  try {
    const app = await startPombo({
      folder: makeFolder("guessing", cleanup),
      hostname: HOST,
      settings: {
        http: { trusted_proxies: ["127.0.0.1/32"] },
        dashboard: { url: `https://${HOST}` },
        rate_limits: { failed_auth_per_minute: 10 },
      },
      cleanup,
    });
    const post = (path: string, body: object, network: string) =>
      fetch(`http://127.0.0.1:${app.port}/api/v1${path}`, {
        method: "POST",
        headers: {
          host: HOST,
          origin: `https://${HOST}`,
          "sec-fetch-site": "same-origin",
          "x-forwarded-proto": "https",
          "x-forwarded-for": network,
          "content-type": "application/json",
        },
        body: JSON.stringify(body),
      });
    const { data } = await operatorApi(app).expect(201, "POST", "/api/v1/operator/dashboard-link");
    const ana = { email: "ana@example.com", password: PASSWORD };
    const token = new URL(data.url as string).hash.slice(1);
    expect((await post("/auth/links/use", { token, name: "Ana", ...ana }, HOME)).status).toBe(200);

    const statuses: number[] = [];
    const guess = async (number: number) => {
      const body = { email: `person${number}@example.com`, password: `guess ${number}` };
      const answer = await post("/auth/session", body, `10.${number >> 8}.${number & 255}.1`);
      await answer.text();
      statuses.push(answer.status);
    };
    const readMemory = (name: "VmRSS" | "VmHWM") => {
      const status = readFileSync(`/proc/${app.process.pid}/status`, "latin1");
      return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) / 1024;
    };
    for (let number = 0; number < WARM_UP; number += 1) await guess(number);
    const before = readMemory("VmRSS");

    let next = WARM_UP;
    let isIn = false;
    const guessOn = async () => {
      while (next < WARM_UP + GUESSES || !isIn) await guess(next++);
    };
    const guessers = Promise.all(Array.from({ length: AT_ONCE }, guessOn));
    const answer = await post("/auth/session", ana, HOME);
    isIn = true;
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("ana@example.com")]);
    await guessers;

    const count = (wanted: number) => statuses.filter((status) => status === wanted).length;
    // Nobody got in, and those that were too many were told so and cost no check.
    expect(count(401) + count(503)).toBe(statuses.length);
    expect(count(503)).toBeGreaterThan(0);
    const growth = readMemory("VmHWM") - before;
    console.log(`${statuses.length} guesses, ${count(401)} checked: at most ${growth.toFixed(0)} MiB more memory`);
    expect(growth).toBeLessThan(MAX_GROWTH_MB);
  } finally {
    await cleanup.close();
  }
});
