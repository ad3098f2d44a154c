// Passkeys: the browser's own ceremonies, in the JSON that the API speaks.

/** Passkeys need https or localhost, and a browser that reads their JSON (2025 and newer). */
export function hasPasskeys(): boolean {
  return (
    typeof PublicKeyCredential !== "undefined" && typeof PublicKeyCredential.parseCreationOptionsFromJSON === "function"
  );
}

/** Whether a passkey can be offered inside the address field. */
export async function canAutofill(): Promise<boolean> {
  return hasPasskeys() && (await PublicKeyCredential.isConditionalMediationAvailable());
}

/** A new passkey; null: the person said no, or has none of this account's any more. */
export async function createPasskey(options: object, signal?: AbortSignal): Promise<object | null> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as PublicKeyCredentialCreationOptionsJSON);
  return run(() => navigator.credentials.create({ publicKey, ...(signal === undefined ? {} : { signal }) }));
}

/** A passkey's answer to a challenge. `mediation` "conditional": offered in the address field until it is used or aborted. */
export async function getPasskey(
  options: object,
  { mediation = "optional", signal }: { mediation?: CredentialMediationRequirement; signal?: AbortSignal } = {},
): Promise<object | null> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options as PublicKeyCredentialRequestOptionsJSON);
  return run(() => navigator.credentials.get({ publicKey, mediation, ...(signal === undefined ? {} : { signal }) }));
}

async function run(ceremony: () => Promise<Credential | null>): Promise<object | null> {
  try {
    const credential = await ceremony();
    return credential instanceof PublicKeyCredential ? credential.toJSON() : null;
  } catch (error) {
    // A person who closes the browser's window is told nothing more than that it was closed.
    if (error instanceof DOMException && (error.name === "NotAllowedError" || error.name === "AbortError")) return null;
    throw error;
  }
}
