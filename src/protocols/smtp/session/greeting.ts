/**
 * Opening a session, step by step: connection, TLS at once where the operator says so, greeting,
 * EHLO, STARTTLS and EHLO again, AUTH. Each step is a stage, which the result names when it ends there.
 */
import type { Clock } from "../../../platform/clock.ts";
import { isLoopback } from "../../../platform/ip/address.ts";
import { authenticate, type Credentials } from "./auth.ts";
import { type Capabilities, readCapabilities, type Unfit } from "./capabilities.ts";
import type { Reply } from "../replies/reply.ts";
import type { Stage } from "../replies/stage.ts";
import type { SessionTimeouts } from "./timeouts.ts";
import { BlockedWay, BrokenWire, type EgressFault, type TlsUse, type Wire } from "./connection.ts";
import type { Dial } from "../../socks5/dial.ts";
import type { Dialogue } from "./transcript.ts";

/** The requirements of a server that the operator named, beyond those of any MX. */
export interface Submission {
  /** TLS from the first byte on, before the greeting (RFC 8314 §3.3). */
  isImplicitTls: boolean;
  /** The authorities that its certificate may come from, as PEM; null: the usual ones. */
  ca: string | null;
  /** Null: we do not sign in. */
  credentials: Credentials | null;
}

/** `opportunistic`: TLS where offered, unverified (R17). `verify`: TLS with a certificate valid for the host. */
export type TlsMode = "opportunistic" | "never" | "required" | "verify";

export interface SessionOptions {
  /** The MX's name: the server name in TLS, and for the records. */
  host: string;
  address: string;
  port: number;
  localAddress: string | null;
  dial?: Dial | undefined;
  heloName: string;
  tls: TlsMode;
  submission?: Submission;
  timeouts: SessionTimeouts;
  clock: Clock;
  /** Is given the transcript as the connection begins. */
  begun?: ((dialogue: Dialogue) => void) | undefined;
  /** Ends the opening. The session's end is `destroy`. */
  signal?: AbortSignal;
}

export type Unopened =
  | { kind: "refused"; stage: Stage; reply: Reply }
  | Unfit
  /** `isTlsFailure`: only TLS failed; the same host may answer in clear, if policy allows (R17). */
  | { kind: "broken"; stage: Stage; reason: string; isTlsFailure: boolean; egressFault?: EgressFault };

export type Greeted = { kind: "greeted"; capabilities: Capabilities; tls: TlsUse | null } | Unopened;

interface Opening {
  wire: Wire;
  options: SessionOptions;
  stage: Stage;
  isTlsFailure: boolean;
}

/** Never throws for what a network or a server does. */
export async function greet(wire: Wire, options: SessionOptions): Promise<Greeted> {
  const opening: Opening = { wire, options, stage: "connect", isTlsFailure: false };
  try {
    return await walk(opening);
  } catch (error) {
    if (!(error instanceof BrokenWire)) throw error;
    if (error instanceof BlockedWay)
      return {
        kind: "broken",
        stage: "connect",
        reason: error.message,
        isTlsFailure: false,
        egressFault: error.fault,
      };
    const isTlsFailure = opening.isTlsFailure && options.signal?.aborted !== true;
    return { kind: "broken", stage: opening.stage, reason: error.message, isTlsFailure };
  }
}

async function walk(opening: Opening): Promise<Greeted> {
  const { wire, options } = opening;
  const { timeouts } = options;
  await wire.connected(timeouts.connectMs);
  const tlsAtOnce = options.submission?.isImplicitTls === true ? await secure(opening) : null;
  opening.stage = "greeting";
  const greeting = await wire.next(timeouts.greetingMs, "greeting");
  if (greeting.code >= 400) return refused("greeting", greeting);
  if (greeting.code !== 220) throw new BrokenWire(`the greeting was ${greeting.code}`);
  opening.stage = "ehlo";
  const first = await sayHello(wire, options);
  if ("code" in first) return refused("ehlo", first);
  const isClear = options.tls === "never" || (options.tls === "opportunistic" && !first.hasStartTls);
  if (tlsAtOnce !== null || isClear) return await signIn(opening, first, tlsAtOnce);

  opening.stage = "starttls";
  if (!first.hasStartTls) {
    opening.isTlsFailure = true;
    throw new BrokenWire("TLS is required and the server does not offer it");
  }
  wire.ask("STARTTLS\r\n", 1);
  const go = await wire.next(timeouts.tlsMs, "answer to STARTTLS");
  if (go.code >= 400) return refused("starttls", go);
  if (go.code !== 220) throw new BrokenWire(`STARTTLS answered with ${go.code}`);
  // R16, RFC 3207 §6: bytes sent in clear must not be read as if they had come under TLS.
  wire.assertQuiet("bytes in clear after the answer to STARTTLS");
  const tls = await secure(opening);
  opening.stage = "ehlo";
  // Under TLS 1.3 our handshake is over before the server has judged it: until its first words, a break is TLS's.
  opening.isTlsFailure = true;
  // R15: what was offered in clear is forgotten.
  const second = await sayHello(wire, options);
  opening.isTlsFailure = false;
  return "code" in second ? refused("ehlo", second) : await signIn(opening, second, tls);
}

async function secure(opening: Opening): Promise<TlsUse> {
  const { wire, options } = opening;
  opening.stage = "starttls";
  opening.isTlsFailure = true;
  const tls = await wire.secure({
    host: options.host,
    isVerified: options.tls === "verify",
    ca: options.submission?.ca ?? null,
    limitMs: options.timeouts.tlsMs,
  });
  opening.isTlsFailure = false;
  return tls;
}

/** EHLO; HELO where the server does not know it (R15). A Reply is the server's refusal. */
async function sayHello(wire: Wire, options: SessionOptions): Promise<Capabilities | Reply> {
  for (const verb of ["EHLO", "HELO"]) {
    wire.ask(`${verb} ${options.heloName}\r\n`, 1);
    const reply = await wire.next(options.timeouts.commandMs, `answer to ${verb}`);
    if (reply.code >= 200 && reply.code < 300) return readCapabilities(verb === "EHLO" ? reply.lines.slice(1) : []);
    if (reply.code < 400) throw new BrokenWire(`${verb} answered with ${reply.code}`);
    if (reply.code < 500 || verb === "HELO") return reply;
  }
  throw new Error("unreachable: HELO always returns");
}

/** AUTH where we have credentials. */
async function signIn(opening: Opening, capabilities: Capabilities, tls: TlsUse | null): Promise<Greeted> {
  const { wire, options } = opening;
  const credentials = options.submission?.credentials ?? null;
  if (credentials !== null) {
    opening.stage = "auth";
    // The configuration is refused for the same; this is the last place before the wire.
    if (tls === null && !isLoopback(options.address)) throw new BrokenWire("a password is never sent without TLS");
    const asking = { wire, credentials, limitMs: options.timeouts.commandMs };
    const refusal = await authenticate(asking, capabilities.authMechanisms);
    if (refusal !== null) return { stage: "auth", ...refusal };
  }
  return { kind: "greeted", capabilities, tls };
}

function refused(stage: Stage, reply: Reply): Greeted {
  return { kind: "refused", stage, reply };
}
