/**
 * RFC 3464 §2: the body of a `message/delivery-status`. Fields about the message first, then a group
 * of fields for each recipient, with empty lines between. Gateways leave out fields, the lines
 * between and the indentation, so a group is what has a field of a recipient, and its second
 * Final-Recipient begins another. Pure.
 */
import { type Field, lines, readFields, findValue } from "./fields.ts";

/** More than any message of ours has: it has one. */
export const MAX_RECIPIENTS = 20;
const MAX_STATUS_CHARACTERS = 64 * 1024;

/** The fields of one recipient; null where a field is missing. */
export type RecipientStatus = typeof NO_STATUS;

type Value = string | null;

export const NO_STATUS = {
  /** Lower case: `failed`, `delayed`, `delivered`, `relayed`, `expanded`. */
  action: null as Value,
  /** RFC 3463, such as `5.1.1`. */
  status: null as Value,
  /** `diagnosticType`: `smtp`, or `x-unix` and the like for what is not a server's answer. */
  diagnostic: null as Value,
  diagnosticType: null as Value,
  finalRecipient: null as Value,
  originalRecipient: null as Value,
  remoteMta: null as Value,
  /** PowerMTA's own word for the reason: `bad-mailbox`, `quota-issues`, … */
  bounceCategory: null as Value,
};

const OF_A_RECIPIENT = new Set(["final-recipient", "original-recipient", "action", "status", "diagnostic-code"]);
const STATUS = /(?<![\d.])([245]\.\d{1,3}\.\d{1,3})(?![\d.])/;

/** The recipients that a delivery-status speaks of, in its order. */
export function readDeliveryStatus(text: string): RecipientStatus[] {
  const recipients: RecipientStatus[] = [];
  for (const block of splitBlocks(text.slice(0, MAX_STATUS_CHARACTERS))) {
    for (const group of splitGroups(readFields(block, "join"))) {
      if (recipients.length === MAX_RECIPIENTS) return recipients;
      recipients.push(toRecipientStatus(group));
    }
  }
  return recipients;
}

/**
 * The same from a text that is no such part: reports whose boundary is lost, and groups that were
 * copied or quoted into the text. Only blocks with an Action, and a Status or a Final-Recipient, count.
 */
export function findDeliveryStatus(text: string): RecipientStatus[] {
  const found = readDeliveryStatus(text.slice(0, MAX_STATUS_CHARACTERS).replace(/^(?:> ?){1,5}/gm, ""));
  return found.filter(({ action, status, finalRecipient }) => action !== null && (status ?? finalRecipient) !== null);
}

/** Lines up to an empty one, each ended by a line feed. */
function* splitBlocks(text: string): Generator<string> {
  let block = "";
  for (const line of lines(text)) {
    if (line.trim() !== "") block += `${line}\n`;
    else if (block !== "") {
      yield block;
      block = "";
    }
  }
  if (block !== "") yield block;
}

function splitGroups(fields: Field[]): Field[][] {
  if (!fields.some((field) => OF_A_RECIPIENT.has(field.name))) return [];
  const groups: Field[][] = [[]];
  for (const field of fields) {
    const group = groups.at(-1) ?? [];
    if (field.name === "final-recipient" && group.some(({ name }) => name === "final-recipient")) groups.push([field]);
    else group.push(field);
  }
  return groups;
}

function toRecipientStatus(group: Field[]): RecipientStatus {
  const [diagnosticType, diagnostic] = typedValue(findValue(group, "diagnostic-code"));
  return {
    action: /^[a-z]+/.exec(findValue(group, "action")?.toLowerCase() ?? "")?.[0] ?? null,
    status: STATUS.exec(findValue(group, "status") ?? "")?.[1] ?? null,
    diagnostic,
    diagnosticType: diagnosticType?.toLowerCase() ?? null,
    finalRecipient: parseTypedAddress(findValue(group, "final-recipient")),
    originalRecipient: parseTypedAddress(findValue(group, "original-recipient")),
    remoteMta: typedValue(findValue(group, "remote-mta"))[1],
    bounceCategory: findValue(group, "x-powermta-bouncecategory"),
  };
}

/** `smtp; 550 No such user` as type and text; the type is null where the semicolon is missing. */
function typedValue(value: string | null): [type: string | null, text: string | null] {
  if (value === null || value === "") return [null, null];
  const match = /^([\w.-]{1,40})[ \t]*;/.exec(value);
  if (match === null) return [null, value];
  const text = value.slice(match[0].length).trim();
  return [match[1] ?? null, text === "" ? null : text];
}

/** `rfc822;<maria@example.com>` as `maria@example.com`. */
function parseTypedAddress(value: string | null): string | null {
  const text = typedValue(value)[1];
  if (text === null) return null;
  const bare = (/<([^<>]{1,320})>/.exec(text)?.[1] ?? text).trim();
  return bare === "" ? null : bare.slice(0, 320);
}
