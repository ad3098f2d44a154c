// What pages cost: requests, and time on a slow phone.

import { expect } from "bun:test";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import { signInToSandbox } from "../../support/browser/people.ts";
import type { Visitor } from "../../support/browser/visitor.ts";
import { waitUntil } from "../../support/peers/process.ts";

const isLong = process.env["LOOKS"] === "all";
const IDLE_MS = isLong ? 60_000 : 15_000;
const FIRST_PAGE_REQUESTS = 6;
const LIVE = /^GET \/api\/v1\/workspace\/live/;
/** A phone on 3G: 1.6 Mbit/s, 150 ms, a quarter of this machine's speed. */
const NETWORK = { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 94_000 };
const CPU_SLOWDOWN = 4;
const RUNS = isLong ? 5 : 3;
const IS_THERE = `document.querySelector("main h1") !== null && document.querySelector("main .loading") === null`;
/** The tab with the stream holds the lock, the other waits for it. */
const LOCKS = `navigator.locks.query().then(({ held, pending }) => held.length === 1 && pending.length === 1)`;
/** Of what /docs takes in the same run, since the machine's pace changes: 1.2 and 2.1 s where that takes 17. */
const SIGN_IN_SHARE = 0.07;
const HOME_SHARE = 0.125;

const sandbox = useSandbox();

journey(
  "the sign-in page needs at most six requests, and one more to say that nobody is signed in",
  async ({ visit }) => {
    const nobody = await visit(sandbox().origin);
    await nobody.page.goto("/dashboard/signin");
    await nobody.page.locator("main h1").waitFor();
    await nobody.page.waitForLoadState("networkidle");
    expect(nobody.requests.filter((each) => each !== "GET /api/v1/auth/me").length).toBeLessThanOrEqual(
      FIRST_PAGE_REQUESTS,
    );
  },
);

journey("the home asks the API three things; who was here before makes six requests for it", async ({ visit }) => {
  const { origin, workspaceId } = sandbox();
  const ana = await visit(origin);
  await signInToSandbox(ana, sandbox());
  const home = `/dashboard/w/${workspaceId}`;
  await ana.page.goto(home);
  await ana.page.locator("main .flow").waitFor();
  await ana.untilCount(LIVE, 1);
  const asked = ana.requests.filter((each) => each.includes(" /api/") && !LIVE.test(each));
  expect(asked.filter((each) => each !== "GET /api/v1/auth/me")).toHaveLength(3);

  // Its files are kept for ever: the browser sends the server only the rest.
  const session = await ana.context.newCDPSession(ana.page);
  await session.send("Network.enable");
  const sent = new Map<string, string>();
  session.on("Network.requestWillBeSent", ({ requestId, request }) => sent.set(requestId, request.url));
  session.on("Network.requestServedFromCache", ({ requestId }) => sent.delete(requestId));
  session.on("Network.responseReceived", ({ requestId, response }) => {
    if (response.fromDiskCache === true) sent.delete(requestId);
  });
  await ana.page.goto("/dashboard/account");
  await ana.page.locator("main h1").waitFor();
  sent.clear();
  await ana.page.goto(home);
  await ana.page.locator("main .flow").waitFor();
  await ana.untilCount(LIVE, 2);
  // The browser tells the two listeners one after the other, and of its own copy of a file once it is read.
  const list = () => [...sent.values()].filter((url) => url.startsWith("http"));
  await waitUntil(
    `no more than ${FIRST_PAGE_REQUESTS} requests`,
    5000,
    () => list().length === FIRST_PAGE_REQUESTS,
  ).catch(() => undefined);
  expect(list()).toHaveLength(FIRST_PAGE_REQUESTS);
});

journey(
  "a page that nobody touches asks nothing but its one stream, and two tabs share that",
  async ({ visit }) => {
    const { origin, workspaceId } = sandbox();
    const ana = await visit(origin);
    await signInToSandbox(ana, sandbox());
    await ana.page.goto(`/dashboard/w/${workspaceId}`);
    // It listens before there is another tab.
    await ana.untilAnswered(LIVE, 1);
    const second = await ana.context.newPage();
    await second.goto(`/dashboard/w/${workspaceId}/emails`);
    for (const page of [ana.page, second]) await ana.until("its page is there", IS_THERE, page);
    // The stream that the first tab holds is no request of the second.
    await second.waitForLoadState("networkidle");
    await ana.until("one tab listens, and the other would", LOCKS);
    expect(ana.count(LIVE)).toBe(1);
    const before = ana.requests.length;
    await Bun.sleep(IDLE_MS);
    expect(ana.requests.slice(before)).toEqual([]);

    // The tab that held the stream goes: the other takes it over.
    await ana.page.close();
    await ana.untilCount(LIVE, 2);
  },
  120_000,
);

async function measureLcp(visitor: Visitor, path: string, runs = RUNS): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    const page = await visitor.context.newPage();
    const session = await visitor.context.newCDPSession(page);
    await session.send("Network.enable");
    await session.send("Network.setCacheDisabled", { cacheDisabled: true });
    await session.send("Network.emulateNetworkConditions", NETWORK);
    await session.send("Emulation.setCPUThrottlingRate", { rate: CPU_SLOWDOWN });
    await page.goto(path, { timeout: 60_000 });
    await page.locator("main h1, .opblock").first().waitFor({ timeout: 60_000 });
    await visitor.until("all of it is there", `document.querySelector(".loading") === null`, page);
    // The entry of a paint comes after it.
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestIdleCallback(done)))");
    times.push(
      await page.evaluate<number>(
        `new Promise((resolve) => new PerformanceObserver((list) => resolve(list.getEntries().at(-1).startTime)).observe({ type: "largest-contentful-paint", buffered: true }))`,
      ),
    );
    await page.close();
  }
  // The machine's other work only ever adds to it, and least to the quickest.
  return Math.min(...times);
}

journey(
  "on a slow phone the sign-in page and the home are there in time",
  async ({ visit }) => {
    const { origin, workspaceId } = sandbox();
    const nobody = await visit(origin);
    const ana = await visit(origin);
    await signInToSandbox(ana, sandbox());
    const docs = await measureLcp(nobody, "/docs", 1);
    const signIn = await measureLcp(nobody, "/dashboard/signin");
    const home = await measureLcp(ana, `/dashboard/w/${workspaceId}`);
    const [signInShare = 1, homeShare = 1] = [signIn, home].map((time) => time / docs);
    console.log(
      `LCP: sign-in ${signIn.toFixed(0)} ms, home ${home.toFixed(0)} ms; of that of /docs ${signInShare.toFixed(3)}, ${homeShare.toFixed(3)}`,
    );
    expect(signInShare).toBeLessThanOrEqual(SIGN_IN_SHARE);
    expect(homeShare).toBeLessThanOrEqual(HOME_SHARE);
  },
  180_000,
);
