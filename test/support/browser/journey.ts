// A test with people in a real browser. It ends with no error in a console, no breach of a policy, no refusal
// that it does not name, and no request to anywhere else.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { Cleanup, makeFolder } from "../peers/process.ts";
import { type Sandbox, startSandbox } from "../peers/sandbox.ts";
import { launchChromium } from "./chromium.ts";
import { type Look, Visitor } from "./visitor.ts";

const JOURNEY_TIMEOUT_MS = 90_000;
const START_TIMEOUT_MS = 60_000;
const PICTURES = join(tmpdir(), "pombo-journeys");

let browser: Promise<Browser> | null = null;
afterAll(async () => {
  await (await browser)?.close();
  browser = null;
});

export interface Stage {
  /** Somebody with a browser of their own, who asks nobody but `origin`. */
  visit(origin: string, look?: Look): Promise<Visitor>;
  readonly cleanup: Cleanup;
}

export function journey(name: string, run: (stage: Stage) => Promise<void>, timeoutMs = JOURNEY_TIMEOUT_MS): void {
  test(
    name,
    async () => {
      const cleanup = new Cleanup();
      const visitors: Visitor[] = [];
      const visit: Stage["visit"] = async (origin, look) => {
        browser ??= launchChromium();
        const visitor = await Visitor.open(await browser, origin, look);
        cleanup.add(() => visitor.context.close());
        visitors.push(visitor);
        return visitor;
      };
      try {
        await run({ visit, cleanup });
        expect(visitors.flatMap(({ complaints }) => complaints)).toEqual([]);
      } catch (error) {
        await takePictures(name, visitors);
        throw error;
      } finally {
        await cleanup.close();
      }
    },
    timeoutMs,
  );
}

async function takePictures(name: string, visitors: Visitor[]): Promise<void> {
  mkdirSync(PICTURES, { recursive: true });
  for (const [nth, { page }] of visitors.entries()) {
    const path = join(PICTURES, `${name.replaceAll(/\W+/g, "-").slice(0, 80)}-${nth + 1}.png`);
    await page.screenshot({ path, timeout: 5000 }).then(
      () => console.error(`what visitor ${nth + 1} saw: ${path}`),
      () => console.error(`no picture of visitor ${nth + 1}`),
    );
  }
}

/** A sandbox for all journeys of the file. */
export function useSandbox(): () => Sandbox {
  const cleanup = new Cleanup();
  let sandbox: Sandbox | null = null;
  beforeAll(async () => {
    sandbox = await startSandbox(join(makeFolder("journeys", cleanup), "sandbox.log"), cleanup);
  }, START_TIMEOUT_MS);
  afterAll(() => cleanup.close());
  return () => {
    if (sandbox === null) throw new Error("the sandbox is not started yet");
    return sandbox;
  };
}
