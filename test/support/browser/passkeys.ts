// An authenticator of the browser's own, which says yes to everything: passkeys need no hardware and no finger.

import type { Visitor } from "./visitor.ts";

export interface Authenticator {
  /** How many passkeys it holds. */
  count(): Promise<number>;
  /** From now on somebody touches it whenever it asks, or nobody does. */
  setPresent(isPresent: boolean): Promise<void>;
}

export async function addAuthenticator(visitor: Visitor): Promise<Authenticator> {
  const session = await visitor.context.newCDPSession(visitor.page);
  await session.send("WebAuthn.enable");
  const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    count: async () => (await session.send("WebAuthn.getCredentials", { authenticatorId })).credentials.length,
    setPresent: async (enabled) =>
      void (await session.send("WebAuthn.setAutomaticPresenceSimulation", { authenticatorId, enabled })),
  };
}
