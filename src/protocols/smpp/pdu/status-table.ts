// Every command_status that SMPP 3.4 §5.1.3 names, and five of SMPP 5.0, with what it means for a segment. Pure.
// SMSCs mean different things by some of them: a route may have its own entries.

/** Why a segment could not be handed over. */
export const REFUSAL_CATEGORIES = [
  "invalid_destination",
  "blocked",
  "sender_rejected",
  "content_rejected",
  "throttled",
  "provider_auth",
  "provider_unavailable",
  "provider_error",
  "protocol_error",
] as const;
export type RefusalCategory = (typeof REFUSAL_CATEGORIES)[number];

export interface StatusRule {
  /** The SMPP name (`ESME_RTHROTTLED`), or the code in hex where it has none; shown as `providerStatus`. */
  name: string;
  /**
   * `accept`: the segment is the SMSC's. `retry`: the same route again. `reroute`: another route, once, if there is one.
   * `fail`: over. `reencode`: as UCS-2, once, if that takes no more segments. `bind`: no answer to a
   * submit; the state machine of the link has it.
   */
  action: "accept" | "retry" | "reroute" | "fail" | "reencode" | "bind";
  /** Null only for `accept`. */
  category: RefusalCategory | null;
  /** Retries for this status before `otherwise`. Null: until the message's time is over. */
  retries: number | null;
  /** Before the first retry and at most, doubling from one to the other; milliseconds. */
  delayMs: readonly [first: number, most: number];
  /** What comes when the retries are used up. */
  otherwise: "reroute" | "fail";
  /** Whether the whole route rests when many of the last answers were such (circuit-breaker.ts). */
  pausesRoute: "never" | "when_frequent";
  /** False: a retry is not counted as an attempt, only the message's age ends it. */
  isCounted: boolean;
  /** The operator has to look: an internal error, or a route configured wrongly. */
  isAlarming: boolean;
}

/** For a passing error: from five seconds to five minutes, until the message's lifetime is over. */
const PASSING = { action: "retry", retries: null, delayMs: [5_000, 300_000] } as const;

/** The route's profile is wrong, or we are: no other message fares better until somebody looks. */
const ALARMING = { isAlarming: true } as const;

function rule(name: string, category: RefusalCategory | null, differences: Partial<StatusRule> = {}): StatusRule {
  return {
    name: `ESME_${name}`,
    action: "fail",
    category,
    retries: 0,
    delayMs: [0, 0],
    otherwise: "fail",
    pausesRoute: "never",
    isCounted: true,
    isAlarming: false,
    ...differences,
  };
}

/** Unlisted codes, the vendors' own (0x400 to 0x4FF) and those reserved (from 0x500 on) among them. */
export const UNLISTED = rule("", "provider_error", { ...PASSING, retries: 2 });

export const STATUSES: ReadonlyMap<number, StatusRule> = new Map([
  [0x00, rule("ROK", null, { action: "accept" })],
  [0x01, rule("RINVMSGLEN", "content_rejected", ALARMING)],
  [0x02, rule("RINVCMDLEN", "protocol_error")],
  [0x03, rule("RINVCMDID", "protocol_error")],
  [0x04, rule("RINVBNDSTS", "provider_unavailable", PASSING)],
  // An old session lingers on the SMSC's side: nothing is wrong with the credentials.
  [0x05, rule("RALYBND", "provider_unavailable", { action: "bind" })],
  [0x06, rule("RINVPRTFLG", "protocol_error", ALARMING)],
  [0x07, rule("RINVREGDLVFLG", "protocol_error", ALARMING)],
  [0x08, rule("RSYSERR", "provider_error", { ...PASSING, retries: 5 })],
  [0x0a, rule("RINVSRCADR", "sender_rejected")],
  // Some SMSCs say so when they have no route to a number that another operator has.
  [0x0b, rule("RINVDSTADR", "invalid_destination", { action: "reroute" })],
  [0x0c, rule("RINVMSGID", "protocol_error")],
  [0x0d, rule("RBINDFAIL", "provider_auth", { action: "bind" })],
  [0x0e, rule("RINVPASWD", "provider_auth", { action: "bind" })],
  [0x0f, rule("RINVSYSID", "provider_auth", { action: "bind" })],
  [0x11, rule("RCANCELFAIL", "protocol_error")],
  [0x13, rule("RREPLACEFAIL", "protocol_error")],
  // The queue of one destination, or of all: only the other responses show which.
  [0x14, rule("RMSGQFUL", "throttled", { ...PASSING, delayMs: [30_000, 180_000], pausesRoute: "when_frequent" })],
  [0x15, rule("RINVSERTYP", "protocol_error", ALARMING)],
  [0x33, rule("RINVNUMDESTS", "protocol_error")],
  [0x34, rule("RINVDLNAME", "protocol_error")],
  [0x40, rule("RINVDESTFLAG", "protocol_error")],
  [0x42, rule("RINVSUBREP", "protocol_error")],
  [0x43, rule("RINVESMCLASS", "protocol_error", ALARMING)],
  [0x44, rule("RCNTSUBDL", "protocol_error")],
  [0x45, rule("RSUBMITFAIL", "provider_error", { ...PASSING, retries: 2, otherwise: "reroute" })],
  [0x48, rule("RINVSRCTON", "sender_rejected")],
  [0x49, rule("RINVSRCNPI", "sender_rejected")],
  [0x50, rule("RINVDSTTON", "invalid_destination")],
  [0x51, rule("RINVDSTNPI", "invalid_destination")],
  [0x53, rule("RINVSYSTYP", "provider_auth", { action: "bind" })],
  [0x54, rule("RINVREPFLAG", "protocol_error", ALARMING)],
  [0x55, rule("RINVNUMMSGS", "protocol_error")],
  // Too fast, which is the link's fault and not the message's: its rate goes down, no attempt is counted.
  [0x58, rule("RTHROTTLED", "throttled", { ...PASSING, delayMs: [1_000, 60_000], isCounted: false })],
  [0x61, rule("RINVSCHED", "protocol_error", ALARMING)],
  [0x62, rule("RINVEXPIRY", "protocol_error", ALARMING)],
  [0x63, rule("RINVDFTMSGID", "protocol_error", ALARMING)],
  [0x64, rule("RX_T_APPN", "provider_error", PASSING)],
  [0x65, rule("RX_P_APPN", "content_rejected")],
  [0x66, rule("RX_R_APPN", "content_rejected")],
  [0x67, rule("RQUERYFAIL", "protocol_error")],
  [0xc0, rule("RINVOPTPARSTREAM", "protocol_error", ALARMING)],
  [0xc1, rule("ROPTPARNOTALLWD", "protocol_error", ALARMING)],
  [0xc2, rule("RINVPARLEN", "protocol_error", ALARMING)],
  [0xc3, rule("RMISSINGOPTPARAM", "protocol_error", ALARMING)],
  [0xc4, rule("RINVOPTPARAMVAL", "protocol_error", ALARMING)],
  // In transaction mode the network has answered already; with its error code modules/sms/receipts/failure.ts knows better.
  [0xfe, rule("RDELIVERYFAILURE", "provider_error")],
  [0xff, rule("RUNKNOWNERR", "provider_error", { ...PASSING, retries: 2, otherwise: "reroute" })],
  [0x100, rule("RSERTYPUNAUTH", "blocked")],
  [0x101, rule("RPROHIBITED", "blocked")],
  [0x102, rule("RSERTYPUNAVAIL", "blocked", PASSING)],
  [0x103, rule("RSERTYPDENIED", "blocked")],
  [0x104, rule("RINVDCS", "content_rejected", { action: "reencode" })],
]);
