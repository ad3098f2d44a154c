import { call } from "../api/client.ts";
import { forgetAnswers } from "./resource.ts";
import { forgetSession } from "./session.ts";

/** Ends the session on the server first: a session that could not be ended is still there, and shown to be. */
export async function signOut(): Promise<void> {
  await call("DELETE /api/v1/auth/session");
  forgetAnswers();
  forgetSession();
}
