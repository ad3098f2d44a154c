// A whole pombo with the sandbox's SMSC at its other end, as `pombo dev` joins them, on a clock that stands still.

import { openInbox } from "../../../src/sandbox/mx/inbox.ts";
import { sandboxRoutes } from "../../../src/sandbox/web/routes.ts";
import { openSentStore, type SentStore } from "../../../src/sandbox/web/sent-store.ts";
import { SANDBOX_SENDERS, smscAccounts, buildSmsConfig } from "../../../src/cli/commands/dev/config.ts";
import { DEFAULT_SMS_PREFIXES } from "../../../src/config/number-prefix.ts";
import { NumberingPlan } from "../../../src/modules/sms/encoding/phone-number.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { type SandboxSmsc, startSandboxSmsc } from "../../../src/sandbox/smsc/server.ts";
import { openTexts, type Texts } from "../../../src/sandbox/smsc/message-store.ts";
import { type FakeClock, fakeClock } from "../../support/fakes/clock.ts";
import { type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";

/** So much of the clock passes between two looks, in which what is under way goes on for real. */
const STEP_MS = 50;
const PASSWORD = "geheim";

export interface PhoneWorld {
  instance: Instance;
  clock: FakeClock;
  smsc: SandboxSmsc;
  texts: Texts;
  /** What the SMSC told. */
  lines: string[];
  text(body: Record<string, unknown>): Promise<string>;
  messages(): Promise<Json[]>;
  /** Lets the clock run by so much. */
  pass(ms: number): Promise<void>;
  /** Lets the clock run until it holds; rejects after so many of its ms. */
  until(what: string, limitMs: number, holds: () => Promise<boolean> | boolean): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startPhones(prefixes = DEFAULT_SMS_PREFIXES): Promise<PhoneWorld> {
  const clock = fakeClock(Date.now());
  const texts = openTexts(":memory:");
  const lines: string[] = [];
  const smsc = await startSandboxSmsc({
    accounts: smscAccounts(),
    password: PASSWORD,
    texts,
    clock,
    random: systemRandom,
    onEvent: (line) => void lines.push(line),
  });
  const { name, number } = SANDBOX_SENDERS;
  const numbering = new NumberingPlan(prefixes);
  let sent: SentStore | null = null;
  const instance = await startInstance({
    clock,
    beside: sandboxRoutes(openInbox(":memory:"), {
      phone: { texts, smsc, ownNumber: number, numbering },
      instance: () =>
        sent === null ? null : { sent, keys: { apiKey: "", operatorKey: "" }, createLink: () => Promise.resolve("") },
    }),
    configure(config) {
      config.sms = { ...config.sms, ...buildSmsConfig({ port: smsc.port, password: PASSWORD }, prefixes) };
    },
  });
  sent = openSentStore(instance.app.db);
  const path = `/api/v1/operator/workspaces/${instance.workspace.id}`;
  for (const each of [name, number])
    await instance.operator.call("POST", `${path}/sender-ids`, { body: { name: each } });
  await instance.operator.call("POST", `${path}/credits`, { body: { amount: 1_000 } });
  const messages = async () => (await instance.workspace.call("GET", "/api/v1/sms?limit=100")).body.data as Json[];
  const step = async () => {
    clock.advance(STEP_MS);
    // The sockets of both ends have their turn.
    await messages();
  };
  return {
    instance,
    clock,
    smsc,
    texts,
    lines,
    async text(body) {
      const answer = await instance.workspace.call("POST", "/api/v1/sms", { body });
      if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`);
      return answer.body.data.id as string;
    },
    messages,
    async until(what, limitMs, holds) {
      const end = clock.now() + limitMs;
      while (!(await holds())) {
        if (clock.now() > end)
          throw new Error(`${what}: not within ${limitMs} ms\n${JSON.stringify(await messages())}`);
        await step();
      }
    },
    async pass(ms) {
      const end = clock.now() + ms;
      while (clock.now() < end) await step();
    },
    async [Symbol.asyncDispose]() {
      smsc.hangUp();
      // What is under way is brought to its end.
      const turn = setInterval(() => clock.advance(STEP_MS), 1);
      await instance[Symbol.asyncDispose]();
      clearInterval(turn);
      await smsc.close();
      texts.close();
    },
  };
}
