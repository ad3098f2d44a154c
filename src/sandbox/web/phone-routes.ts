/**
 * The sandbox's phones over HTTP: what arrived at them, for the page and for test suites, and a way to write back
 * as one of them. Guarded as the inbox is, and like it mounted by `pombo dev` only.
 */
import { bodyFault } from "../../modules/sms/encoding/encoding.ts";
import type { NumberingPlan } from "../../modules/sms/encoding/phone-number.ts";
import { faultAnswer, type Fault, guardedRoutes, GUARDING_HEADERS, readLimit } from "./guard.ts";
import type { SandboxSmsc } from "../smsc/server.ts";
import { DEFAULT_TEXT_LIMIT, type Texts } from "../smsc/message-store.ts";
import type { SentStore } from "./sent-store.ts";
import { showText } from "./views.ts";

const MAX_LIMIT = 1_000;
const MAX_BODY = 1_600;
const ANSWERABLE = /^\+?\d{3,15}$/;

export interface PhoneDeps {
  texts: Texts;
  smsc: Pick<SandboxSmsc, "writeBack">;
  /** The workspace's number, which texts go back to unless another is named. */
  ownNumber: string;
  /** The numbers that phones have. */
  numbering: NumberingPlan;
}

/** `getSent`: null until the instance has started. */
export function phoneRoutes(deps: PhoneDeps, getSent: () => SentStore | null) {
  const deleteAll = () => deps.texts.clear(getSent()?.listSms(1)[0]?.message.createdAt ?? 0);
  return guardedRoutes("sandbox phones")
    .get("/sandbox/texts", ({ request }) => listTexts(deps, new URL(request.url)))
    .post("/sandbox/texts", ({ body }) => writeBack(body, deps), { parse: "json" })
    .delete("/sandbox/texts", () => Response.json({ deleted: deleteAll() }, { headers: GUARDING_HEADERS }), {
      parse: "none",
    });
}

function listTexts({ texts, numbering }: PhoneDeps, url: URL): Response {
  const limit = readLimit(url, DEFAULT_TEXT_LIMIT, MAX_LIMIT);
  if (limit instanceof Response) return limit;
  // A plus typed by hand is read as a space in a query.
  const to = url.searchParams.get("to")?.trim();
  const withOut = url.searchParams.get("include") === "sent";
  const listed = texts.list({ phone: to === undefined ? undefined : numbering.toE164(to), limit, withOut });
  return Response.json(
    listed.map((text) => (withOut ? { ...showText(text), direction: text.direction } : showText(text))),
    { headers: GUARDING_HEADERS },
  );
}

async function writeBack(given: unknown, { smsc, ownNumber, numbering }: PhoneDeps): Promise<Response> {
  if (!isObject(given)) {
    const message = `The body must be JSON, such as {"from": "${numbering.example}", "body": "Olá"}`;
    return faultAnswer(400, { code: "BAD_REQUEST", message });
  }
  const { from, to = ownNumber, body } = given;
  const faults = findFaults({ from, to, body }, numbering);
  if (typeof from !== "string" || typeof to !== "string" || typeof body !== "string" || faults.length > 0)
    return faultAnswer(422, ...faults);
  switch (await smsc.writeBack({ from, to, body })) {
    case "taken":
      return Response.json({ data: { from, to, body } }, { status: 201, headers: GUARDING_HEADERS });
    case "refused":
      return unavailable("pombo did not take the text. Send it again.");
    case "not_connected":
      return unavailable("pombo has no connection to the sandbox's SMSC at the moment. Send it again in a second.");
  }
}

function unavailable(message: string): Response {
  return faultAnswer(503, { code: "UNAVAILABLE", message });
}

function isObject(given: unknown): given is { from?: unknown; to?: unknown; body?: unknown } {
  return typeof given === "object" && given !== null && !Array.isArray(given);
}

function findFaults(
  { from, to, body }: { from: unknown; to: unknown; body: unknown },
  numbering: NumberingPlan,
): Fault[] {
  const faults: Fault[] = [];
  const note = (field: string, message: string) => faults.push({ code: "VALIDATION_ERROR", message, field });
  if (typeof from !== "string" || !numbering.allows(from))
    note("from", `from must be the phone's number in E.164, such as ${numbering.example}`);
  if (typeof to !== "string" || !ANSWERABLE.test(to))
    note("to", "to must be a number or short code that sends texts: a name cannot be answered from a phone");
  if (typeof body !== "string" || body === "" || [...body].length > MAX_BODY)
    note("body", `body must be a text of 1 to ${MAX_BODY} characters`);
  else {
    const fault = bodyFault(body);
    if (fault !== null) note("body", `body ${fault}`);
  }
  return faults;
}
