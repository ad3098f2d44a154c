// Maps a command_status to the next step for its segment. Pure.
// A route's own entries come before the table in pdu/status-table.ts, since vendors differ.

import { hex } from "./pdu/status.ts";
import { type RefusalCategory, type StatusRule, STATUSES, UNLISTED } from "./pdu/status-table.ts";

/** A route's own rules, by command_status. What an entry leaves out is as in the table. */
export type StatusOverrides = ReadonlyMap<number, Partial<StatusRule>>;

/** The rule for a command_status; what has no name in the table is named by its number. */
export function findStatusRule(status: number, overrides?: StatusOverrides): StatusRule {
  const rule = STATUSES.get(status) ?? { ...UNLISTED, name: hex(status) };
  const override = overrides?.get(status);
  return override === undefined ? rule : { ...rule, ...override };
}

/** What has been tried with a segment when its answer comes. */
export interface Tried {
  /** Answers of this status that it had before. */
  retries: number;
  /** Another route stands ready, none was tried yet, and no segment of the message was accepted. */
  canReroute: boolean;
  /** Not tried yet, allowed by the route, and no more segments in UCS-2. */
  canReencode: boolean;
}

export type Step =
  | { kind: "accepted" }
  | { kind: "retry"; afterMs: number; isCounted: boolean }
  | { kind: "reroute" }
  | { kind: "reencode" }
  | { kind: "failed"; category: RefusalCategory };

/** What becomes of a segment that got this answer. A route that can take no more fails it with the rule's category. */
export function nextStep(rule: StatusRule, tried: Tried): Step {
  switch (rule.action) {
    case "accept":
      return { kind: "accepted" };
    case "retry":
      if (rule.retries === null || tried.retries < rule.retries)
        return { kind: "retry", afterMs: delayAfter(rule, tried.retries), isCounted: rule.isCounted };
      return rule.otherwise === "reroute" && tried.canReroute ? { kind: "reroute" } : failed(rule);
    case "reroute":
      return tried.canReroute ? { kind: "reroute" } : failed(rule);
    case "reencode":
      return tried.canReencode ? { kind: "reencode" } : failed(rule);
    // A bind's refusal is no answer to a submit_sm; where one comes all the same, the route is unusable as it is.
    case "bind":
    case "fail":
      return failed(rule);
  }
}

function failed({ category }: StatusRule): Step {
  return { kind: "failed", category: category ?? "protocol_error" };
}

function delayAfter({ delayMs: [first, most] }: StatusRule, retries: number): number {
  return Math.min(most, first * 2 ** Math.min(retries, 30));
}
