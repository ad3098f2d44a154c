// The stages of a delivery: what an answer, or a break, can be about.

/** Where in a delivery something was said or went wrong: the way there, then the commands; `block` is the content, `dot` its end. */
export const STAGES = [
  "dns",
  "connect",
  "greeting",
  "ehlo",
  "starttls",
  "auth",
  "mail",
  "rcpt",
  "data",
  "block",
  "dot",
] as const;

export type Stage = (typeof STAGES)[number];

/** Of a session that was not even let in. */
export const BEFORE_MAIL: ReadonlySet<Stage> = new Set<Stage>(["connect", "greeting", "ehlo", "starttls", "auth"]);
