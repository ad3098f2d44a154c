// Which binds a link needs, and what the answer to one means.

import type { LinkSettings } from "../settings.ts";
import { STATUS } from "../pdu/status.ts";

export type Role = "transceiver" | "transmitter" | "receiver";

export function listRoles(mode: LinkSettings["bindMode"]): Role[] {
  return mode === "pair" ? ["transmitter", "receiver"] : [mode];
}

/** `settings`: it will be refused until somebody changes something. `lingering`: our old session is still there. */
export type BindVerdict = "bound" | "settings" | "lingering" | "trouble";

const SETTINGS_WRONG: readonly number[] = [
  STATUS.bindFailed,
  STATUS.invalidPassword,
  STATUS.invalidSystemId,
  STATUS.invalidSystemType,
  // An SMSC that knows no transceiver answers so.
  STATUS.invalidCommand,
];

/** `status`: of the bind's answer, or of a generic_nack for it. */
export function classifyBind(status: number, isNack: boolean): BindVerdict {
  if (status === STATUS.ok && !isNack) return "bound";
  if (status === STATUS.alreadyBound) return "lingering";
  return SETTINGS_WRONG.includes(status) ? "settings" : "trouble";
}
