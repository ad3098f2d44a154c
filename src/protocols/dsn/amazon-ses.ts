/**
 * Amazon SES's notifications by mail: a line of JSON in a text. They come from operators who relay
 * through SES and point its notifications at their complaint address. Read as the report that they
 * stand for. Pure.
 */
import { type Feedback, toFeedback } from "./feedback-report.ts";
import { NO_STATUS, type RecipientStatus } from "./delivery-status.ts";
import { type Message, decodePart } from "./message.ts";

const MAX_JSON_CHARACTERS = 64 * 1024;
const MAX_RECIPIENTS = 50;

export type Notification = { kind: "complaint"; feedback: Feedback } | { kind: "bounce"; statuses: RecipientStatus[] };

/** The notification that the message holds, or null. */
export function readNotification(message: Message): Notification | null {
  const [part] = message.parts;
  if (part?.type !== "text/plain" || !part.body.slice(0, MAX_JSON_CHARACTERS).includes("notificationType")) return null;
  // Old mail servers break long lines with an exclamation mark.
  const text = decodePart(part)
    .slice(0, MAX_JSON_CHARACTERS)
    .replace(/!\r?\n /g, "");
  const whole = member(parseJson(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1)), null);
  // SNS wraps it in an envelope when raw delivery is off.
  const told = typeof whole["Message"] === "string" ? member(parseJson(whole["Message"]), null) : whole;
  if (told["notificationType"] === "Complaint") {
    const type = textMember(member(told, "complaint"), "complaintFeedbackType");
    return { kind: "complaint", feedback: toFeedback(type ?? "abuse") };
  }
  return told["notificationType"] === "Bounce" ? { kind: "bounce", statuses: toStatuses(told) } : null;
}

function toStatuses(told: Members): RecipientStatus[] {
  return list(member(told, "bounce"), "bouncedRecipients").map((each) => ({
    ...NO_STATUS,
    action: textMember(each, "action")?.toLowerCase() ?? null,
    status: textMember(each, "status"),
    diagnostic: textMember(each, "diagnosticCode")?.replace(/^smtp; ?/i, "") ?? null,
    diagnosticType: "smtp",
    finalRecipient: textMember(each, "emailAddress"),
  }));
}

type Members = Record<string, unknown>;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The object at a name (of the value itself for null), or an empty one. */
function member(value: unknown, name: string | null): Members {
  const found = name === null ? value : isMembers(value) ? value[name] : null;
  return isMembers(found) ? found : {};
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function list(value: Members, name: string): Members[] {
  const found = value[name];
  return Array.isArray(found) ? found.slice(0, MAX_RECIPIENTS).filter(isMembers) : [];
}

function textMember(value: Members, name: string): string | null {
  const found = value[name];
  return typeof found === "string" ? found.slice(0, 1_000) : null;
}
