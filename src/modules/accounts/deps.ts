// What the routes of accounts work with, and what other modules give them.

import type { Context } from "../../platform/context.ts";
import type { Role } from "../../platform/http/auth.ts";
import type { DashboardSite } from "../../platform/http/browser-request.ts";
import type { LinkStore } from "./link-store.ts";
import type { Passwords } from "./factors/passwords.ts";
import type { SessionStore } from "./session-store.ts";
import type { UserStore } from "./store.ts";

export interface AccountStores {
  users: UserStore;
  sessions: SessionStore;
  links: LinkStore;
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
  /** Inside a transaction: the user leaves all workspaces. Those that have no owner any more. */
  removeOfUser(userId: number): { id: string; name: string }[];
}

export interface AccountDeps extends Pick<Context, "commit" | "clock" | "random" | "log">, AccountStores {
  passwords: Passwords;
  site: DashboardSite;
  /** The name of the server. */
  hostname: string;
  instance: InstanceFacts;
  members: Members;
}
