// Passkeys: the browser's own ceremonies, in the JSON that the API speaks.

import { call } from "../api/client.ts";
import type { Body, Data } from "../api/calls.ts";

const IP_ADDRESS = /^(\d+(\.\d+){3}|\[.*\])$/;

/** Passkeys need https or localhost, a name and no address, and a browser that reads their JSON. */
export function hasPasskeys(): boolean {
  if (typeof PublicKeyCredential === "undefined" || IP_ADDRESS.test(location.hostname)) return false;
  return typeof PublicKeyCredential.parseCreationOptionsFromJSON === "function";
}

/** Whether a passkey can be offered inside the address field. */
export async function canAutofill(): Promise<boolean> {
  return hasPasskeys() && (await PublicKeyCredential.isConditionalMediationAvailable());
}

/** What goes back to the API. */
export type PasskeyAnswer = Body<"POST /api/v1/auth/session/passkey">;

/** A new passkey for what is asked; null: the person closed the browser's window. Throws ApiError. */
export async function createPasskey(asked: Body<"POST /api/v1/auth/passkeys/options">): Promise<PasskeyAnswer | null> {
  const { data } = await call("POST /api/v1/auth/passkeys/options", { body: asked });
  const options = data.options as unknown as PublicKeyCredentialCreationOptionsJSON;
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  return run(data, () => navigator.credentials.create({ publicKey }));
}

interface AskOptions {
  /** "conditional": offered in the address field until it is chosen or aborted. */
  mediation?: CredentialMediationRequirement;
  signal?: AbortSignal;
}

/** The answer of a passkey that is there; null as above. Throws ApiError. */
export async function askPasskey(
  purpose: "sign_in" | "proof",
  { mediation = "optional", signal }: AskOptions = {},
): Promise<PasskeyAnswer | null> {
  const { data } = await call("POST /api/v1/auth/passkeys/options", { body: { for: purpose } });
  const options = data.options as unknown as PublicKeyCredentialRequestOptionsJSON;
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  return run(data, () =>
    navigator.credentials.get({ publicKey, mediation, ...(signal === undefined ? {} : { signal }) }),
  );
}

type Offered = Data<"POST /api/v1/auth/passkeys/options">;

async function run(
  { challengeId }: Offered,
  ceremony: () => Promise<Credential | null>,
): Promise<PasskeyAnswer | null> {
  try {
    const credential = await ceremony();
    if (!(credential instanceof PublicKeyCredential)) return null;
    return { challengeId, response: credential.toJSON() };
  } catch (error) {
    // The browser tells no more than that nothing came of it.
    if (error instanceof DOMException && (error.name === "NotAllowedError" || error.name === "AbortError")) return null;
    throw error;
  }
}
