// Passkeys (WebAuthn): the two ceremonies, in which a browser signs a challenge. A library reads and verifies what it sends.

import type { AuthenticationResponseJSON, RegistrationResponseJSON, WebAuthnCredential } from "@simplewebauthn/server";
import type { Clock } from "../../../platform/clock.ts";
import { AppError } from "../../../platform/errors.ts";
import { validationError } from "../../../platform/http/errors.ts";
import type { Random } from "../../../platform/random.ts";
import { idFromBytes, idToBytes } from "../../../platform/uuid.ts";
import { ExpiringMap } from "../expiring-map.ts";
import type { PasskeyRow } from "../store.ts";

const CHALLENGE_BYTES = 32;
const CHALLENGE_MS = 5 * 60_000;
/** Of all who are about to sign in; a further one replaces the oldest. */
const MAX_CHALLENGES = 10_000;
const RP_NAME = "pombo";

/** What a challenge is signed for; it serves nothing else. */
export type Purpose =
  | { for: "sign_in" }
  /** A person who is signed in proves it again, or adds a passkey. */
  | { for: "proof" | "register"; userId: number }
  /** A link makes an account or a new passkey: of this user id. */
  | { for: "link"; linkHash: string; userUid: string };

interface Challenge {
  challenge: string;
  origin: string;
  rpId: string;
  isVerificationRequired: boolean;
  purpose: Purpose;
}

export interface PasskeyUser {
  uid: string;
  email: string;
  name: string;
  isOperator: boolean;
}

/** A new passkey that was verified. */
export type NewPasskey = Pick<PasskeyRow, "credentialId" | "publicKey" | "counter" | "transports">;

export interface VerifiedAssertion {
  counter: number;
  isUserVerified: boolean;
}

export class Passkeys {
  readonly #challenges: ExpiringMap<string, Challenge>;
  readonly #random: Pick<Random, "bytes">;

  constructor({ clock, random }: { clock: Pick<Clock, "now">; random: Pick<Random, "bytes"> }) {
    this.#challenges = new ExpiringMap(MAX_CHALLENGES, CHALLENGE_MS, clock);
    this.#random = random;
  }

  /** For navigator.credentials.create(). */
  async offerRegistration(origin: string, purpose: Purpose, user: PasskeyUser, known: readonly PasskeyRow[]) {
    const { generateRegistrationOptions } = await loadLibrary();
    const { challengeId, challenge, rpId } = this.#open(origin, purpose, user.isOperator);
    const options = await generateRegistrationOptions({
      rpName: RP_NAME,
      rpID: rpId,
      userName: user.email,
      userDisplayName: user.name,
      userID: new Uint8Array(idToBytes(user.uid)),
      challenge: new Uint8Array(challenge),
      timeout: CHALLENGE_MS,
      attestationType: "none",
      excludeCredentials: known.map(({ credentialId }) => ({ id: credentialId })),
      authenticatorSelection: {
        residentKey: "required",
        userVerification: user.isOperator ? "required" : "preferred",
      },
    });
    return { challengeId, options };
  }

  /** For navigator.credentials.get(); `known` null: any passkey that the browser has for here. */
  async offerAssertion(
    origin: string,
    purpose: Purpose,
    isVerificationRequired: boolean,
    known: readonly PasskeyRow[] | null,
  ) {
    const { generateAuthenticationOptions } = await loadLibrary();
    const { challengeId, challenge, rpId } = this.#open(origin, purpose, isVerificationRequired);
    const options = await generateAuthenticationOptions({
      rpID: rpId,
      challenge: new Uint8Array(challenge),
      timeout: CHALLENGE_MS,
      userVerification: isVerificationRequired ? "required" : "preferred",
      ...(known === null ? {} : { allowCredentials: known.map(({ credentialId }) => ({ id: credentialId })) }),
    });
    return { challengeId, options };
  }

  /** The challenge is used up, whatever comes of it. `isMeant` says whether it was given out for this. Throws INVALID_CREDENTIALS. */
  take(challengeId: string, origin: string, isMeant: (purpose: Purpose) => boolean): Challenge {
    const taken = this.#challenges.take(challengeId);
    if (taken?.origin === origin && isMeant(taken.purpose)) return taken;
    throw refused("This passkey request is over or was used already");
  }

  /** Throws 422 unless it is a new passkey that answers the challenge. */
  async verifyRegistration(challenge: Challenge, response: unknown): Promise<NewPasskey> {
    const { verifyRegistrationResponse } = await loadLibrary();
    const verify = async () => {
      await requireNoCertificates(response);
      return verifyRegistrationResponse({
        response: response as RegistrationResponseJSON,
        expectedChallenge: challenge.challenge,
        expectedOrigin: challenge.origin,
        expectedRPID: challenge.rpId,
        requireUserVerification: challenge.isVerificationRequired,
      });
    };
    const verified = await verify().catch(() => null);
    if (verified?.verified !== true) {
      const message = "is not a passkey that answers the challenge";
      throw validationError([{ path: ["response"], message, hint: "Ask for new options, and try again." }]);
    }
    const { id, publicKey, counter, transports = [] } = verified.registrationInfo.credential;
    return { credentialId: id, publicKey: Buffer.from(publicKey), counter, transports: JSON.stringify(transports) };
  }

  /** Throws INVALID_CREDENTIALS unless the passkey signed the challenge. */
  async verifyAssertion(challenge: Challenge, response: unknown, passkey: PasskeyRow): Promise<VerifiedAssertion> {
    const { verifyAuthenticationResponse } = await loadLibrary();
    const credential: WebAuthnCredential = {
      id: passkey.credentialId,
      publicKey: new Uint8Array(passkey.publicKey),
      counter: passkey.counter,
    };
    const verified = await verifyAuthenticationResponse({
      response: response as AuthenticationResponseJSON,
      expectedChallenge: challenge.challenge,
      expectedOrigin: challenge.origin,
      expectedRPID: challenge.rpId,
      credential,
      requireUserVerification: challenge.isVerificationRequired,
    }).catch(() => null);
    if (verified?.verified !== true) throw refused("This passkey did not sign the request");
    const { newCounter, userVerified } = verified.authenticationInfo;
    return { counter: newCounter, isUserVerified: userVerified };
  }

  #open(origin: string, purpose: Purpose, isVerificationRequired: boolean) {
    const rpId = findRpId(origin);
    const challenge = this.#random.bytes(CHALLENGE_BYTES);
    const challengeId = idFromBytes(this.#random.bytes(16));
    const text = Buffer.from(challenge).toString("base64url");
    this.#challenges.set(challengeId, { challenge: text, origin, rpId, isVerificationRequired, purpose });
    return { challengeId, challenge, rpId };
  }
}

/** The library needs the first package, and both are loaded when the first passkey is asked for: a start does not wait for them. */
async function loadLibrary() {
  await import("reflect-metadata");
  return import("@simplewebauthn/server");
}

/** The library would call the addresses of revocation lists that certificates name. None were asked for: a browser sends none. */
async function requireNoCertificates(response: unknown): Promise<void> {
  const { decodeAttestationObject } = await import("@simplewebauthn/server/helpers");
  const { attestationObject } = (response as RegistrationResponseJSON).response;
  const decoded = decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, "base64url")));
  const isSelfMade = decoded.get("fmt") === "packed" && decoded.get("attStmt").get("x5c") === undefined;
  if (decoded.get("fmt") !== "none" && !isSelfMade) throw new Error("an attestation with certificates");
}

/** Passkeys belong to a host name. Throws 422 for an address, which has none. */
function findRpId(origin: string): string {
  const { hostname } = new URL(origin);
  const isAddress = hostname.startsWith("[") || /^\d+\.\d+\.\d+\.\d+$/.test(hostname);
  if (!isAddress) return hostname;
  throw validationError([
    {
      path: ["for"],
      message: "cannot be served here: passkeys need a host name",
      hint: "Open the dashboard as http://localhost.",
    },
  ]);
}

function refused(message: string): AppError {
  return new AppError("INVALID_CREDENTIALS", message, { hint: "Try again, or sign in another way." });
}

/** The user id in the answer of a passkey that was found by the browser; null: it has none. */
export function readUserHandle(response: unknown): string | null {
  const { userHandle } = (response as { response?: { userHandle?: unknown } }).response ?? {};
  if (typeof userHandle !== "string") return null;
  const bytes = Buffer.from(userHandle, "base64url");
  return bytes.length === 16 ? idFromBytes(bytes) : null;
}
