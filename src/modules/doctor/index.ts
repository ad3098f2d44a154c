/**
 * The doctor: looks at this instance as the world sees it, and says of everything that stands between a message and its
 * reader what was seen and what to do. By hand it looks at all; in the background at its own parts and some domains, the
 * worst first. Its DNS and its sockets are its own, so that no finding ever holds up mail.
 */
import type { AnyElysia } from "elysia";
import { BUILD } from "../../platform/build-info.ts";
import { BackgroundTask } from "../../platform/background-task.ts";
import type { Component, Context } from "../../platform/context.ts";
import { ownAddresses } from "../../platform/ip/own-addresses.ts";
import { findRoute } from "../../platform/ip/route.ts";
import { usableMemory } from "../../platform/memory-limit.ts";
import type { DomainStore } from "../domains/store.ts";
import { groupOf, isAboutDomain } from "./catalog.ts";
import type { DeliveryStore } from "./lately/delivery-store.ts";
import { createDomainPicker, type DomainPicker } from "./domain-view.ts";
import { createExaminer, type Examination, type ExaminationWish, findDomains } from "./examiner.ts";
import type { Finding } from "./finding.ts";
import { type ChangeListener, createResults } from "./results.ts";
import { doctorRoutes } from "./routes.ts";
import { createSendTest, type SendTestDeps, type SendTestStores } from "./send-test/send-test.ts";
import type { SmsLookStore } from "./lately/sms-store.ts";
import type { DoctorConfig, InstanceView, Outside } from "./world.ts";

/** A name that needs longer is unknown; the servers themselves were asked before. */
export const DOCTOR_DNS = { timeoutMs: 2_000, lookupsAtOnce: 32 };

/** Of a run in the background. */
const QUESTIONS_LIMIT = 200;
/** Of one by hand; bounds what a thousand domains cost. */
const QUESTIONS_BY_HAND = 20_000;
/** After a start, so that one which is started again and again does not ask the world each time. */
const FIRST_RUN_MS = 60_000;
const JITTER = 0.1;

export interface Doctor extends Required<Pick<Component, "start" | "stop">> {
  operatorRoutes(): AnyElysia[];
  /** Of the last runs, the worst first. */
  findings(): Finding[];
  /** What is not well, as it was last known. */
  troubles(): Finding[];
  /** It was not looked at since the start, so that its absence from troubles() says nothing. */
  isUnsure(about: Pick<Finding, "id" | "subject">): boolean;
  /** Calls `listener` after each run that changed something; the returned function ends that. */
  onChange(listener: ChangeListener): () => void;
  /** How the instance is, for runs after start(). */
  observe(find: () => InstanceView): void;
  /** Null: no workspace sends with the domain. */
  examine(wish: ExaminationWish): Promise<Examination | null>;
  /** Resolves when no run in the background is under way. */
  idle(): Promise<void>;
}

export type DoctorDeps = Pick<Outside, "fresh" | "servers"> & SendTestDeps;

/** Nothing begins to act before start(); until then a command looks, and no port of the instance is open. */
export function createDoctor(
  context: Pick<Context, "clock" | "steady" | "random" | "log" | "commit">,
  stores: { domains: DomainStore; deliveryLook: DeliveryStore; smsLook: SmsLookStore } & SendTestStores,
  config: DoctorConfig,
  deps: DoctorDeps,
): Doctor {
  const { clock, log, random } = context;
  const results = createResults();
  const stopping = new AbortController();
  const picker = createDomainPicker({ ...stores, settings: config.email });
  let isStarted = false;
  let find: () => InstanceView | null = () => null;
  const run = createExaminer({
    ...context,
    config,
    outside: {
      ...context,
      ...deps,
      ownAddresses,
      findRoute,
      deliveries: stores.deliveryLook,
      sms: stores.smsLook,
      memoryBytes: usableMemory(),
      build: { ...BUILD, file: `pombo-${process.platform}-${process.arch}` },
      fetch: globalThis.fetch,
    },
    results,
    findInstance: () => (isStarted ? find() : null),
    isGone: picker.isGone,
    stopping: stopping.signal,
  });
  const test = createSendTest({ ...context, ...stores, ...deps, config, picker, isStarted: () => isStarted });
  const examine = async (wish: ExaminationWish): Promise<Examination | null> => {
    if (wish.domain === null) return await run(wish, QUESTIONS_BY_HAND, picker.all());
    const domain = picker.named(wish.domain);
    return domain === null ? null : await run(wish, QUESTIONS_BY_HAND, [domain]);
  };
  const task = new BackgroundTask({
    name: "doctor",
    clock,
    log,
    async run() {
      const troubles = results.findings().filter(({ id }) => groupOf(id) === "domains");
      const wish = { domain: null, only: null, rdap: false };
      const { findings } = await run(wish, QUESTIONS_LIMIT, picker.next(troubles));
      picker.reached(findDomains(findings));
      return config.doctor.everyMs * (1 - JITTER + 2 * JITTER * random.unit());
    },
  });
  return {
    operatorRoutes: () => [doctorRoutes({ results, examine, test })],
    findings: () => results.findings(),
    troubles: () => results.troubles(),
    isUnsure: (about) => config.doctor.everyMs > 0 && !results.isKnown(about) && !isOfGone(about, picker),
    onChange: (listener) => results.onChange(listener),
    observe: (given) => void (find = given),
    examine,
    idle: () => task.idle(),
    start() {
      isStarted = true;
      if (config.doctor.everyMs > 0) task.start(FIRST_RUN_MS * (1 + 2 * random.unit()));
    },
    async stop() {
      stopping.abort();
      test.stop();
      await task.stop();
    },
  };
}

function isOfGone({ id, subject = "" }: Pick<Finding, "id" | "subject">, { isGone }: Pick<DomainPicker, "isGone">) {
  return isAboutDomain(id) && isGone(subject);
}
