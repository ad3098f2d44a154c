/** command_status (SMPP 3.4 §5.1.3), as far as a link decides by them. */
export const STATUS = {
  ok: 0x00,
  invalidMessageLength: 0x01,
  invalidLength: 0x02,
  invalidCommand: 0x03,
  wrongBindState: 0x04,
  alreadyBound: 0x05,
  bindFailed: 0x0d,
  invalidPassword: 0x0e,
  invalidSystemId: 0x0f,
  queueFull: 0x14,
  invalidSystemType: 0x53,
  throttled: 0x58,
  temporaryError: 0x64,
} as const;

/** A status as operators know them. */
export function hex(status: number): string {
  return `0x${status.toString(16).padStart(8, "0").toUpperCase()}`;
}
