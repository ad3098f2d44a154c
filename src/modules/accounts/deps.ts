// What the routes of accounts work with, and what other modules give them.

import type { Context } from "../../platform/context.ts";
import type { Role } from "../../platform/http/auth.ts";
import type { DashboardSite } from "../../platform/http/browser-request.ts";
import type { InstanceSettings } from "../../platform/db/instance-settings.ts";
import type { LinkStore } from "./link-store.ts";
import type { SendSystemMail } from "../emails/system-mail.ts";
import type { SubmissionPlace } from "../submission/place.ts";
import type { RecordAudit } from "../audit/record.ts";
import type { ExpiringMap } from "./expiring-map.ts";
import type { Passkeys } from "./factors/passkeys.ts";
import type { Passwords } from "./factors/passwords.ts";
import type { SecondFactorDeps } from "./factors/second-factor.ts";
import type { SignInLimits } from "./sign-in/limits.ts";
import type { ReviewStore } from "./review-store.ts";
import type { SessionStore } from "./session-store.ts";
import type { UserStore } from "./store.ts";

export interface AccountStores {
  users: UserStore;
  sessions: SessionStore;
  links: LinkStore;
  review: ReviewStore;
  settings: Pick<InstanceSettings, "get" | "set">;
}

/** What a person's page says of the instance. */
export interface InstanceFacts {
  version: string;
  isSandbox: boolean;
  canMail: boolean;
  magicLinks: boolean;
}

/** Given by the module of members. */
export interface Members {
  /** The workspaces of a user. */
  listOfUser(userId: number): { id: string; name: string; role: Role }[];
  /** An invitation that can still be accepted. */
  findInvitation(token: string): OpenInvitation | undefined;
  /** The user joins, inside the caller's transaction. Throws LINK_USED and ALREADY_MEMBER. */
  acceptInvitation(accepted: { token: string; userId: number; request: Request }): void;
  /** Inside a transaction: the user leaves all workspaces. Those that have no owner any more. */
  removeOfUser(userId: number): { id: string; name: string }[];
}

export interface OpenInvitation {
  /** Whom it is meant for; whoever opens it may be another. */
  email: string;
  workspaceName: string;
  role: Role;
  /** Null: an API key or the operator. */
  inviterName: string | null;
}

export interface AccountDeps
  extends
    Pick<Context, "commit" | "clock" | "random" | "log">,
    AccountStores,
    Pick<SecondFactorDeps, "keyring" | "early"> {
  passwords: Passwords;
  passkeys: Passkeys;
  limits: SignInLimits;
  sendSystemMail: SendSystemMail;
  /** Secrets for an authenticator app that nobody uses yet, by user. */
  pendingSecrets: ExpiringMap<number, Uint8Array>;
  recordAudit: RecordAudit;
  site: DashboardSite;
  /** The name of the server. */
  hostname: string;
  instance: InstanceFacts;
  findSubmission: () => SubmissionPlace | null;
  members: Members;
}
