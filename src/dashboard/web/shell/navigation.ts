// The pages of a workspace, in the order of the navigation.

import { t } from "../i18n/index.ts";
import { workspace } from "../state/session.ts";
import type { IconName } from "../ui/icon.tsx";

export interface NavigationItem {
  /** Behind /dashboard/w/:workspace/. */
  page: string;
  icon: IconName;
  /** The key after `g`. */
  chord: string;
  getTitle: () => string;
  /** Only for those who manage the workspace. */
  isForManagers?: true;
}

const ITEMS: NavigationItem[] = [
  { page: "", icon: "home", chord: "h", getTitle: () => t().workspace.home },
  { page: "emails", icon: "mail", chord: "e", getTitle: () => t().workspace.emails },
  { page: "sms", icon: "chat", chord: "s", getTitle: () => t().workspace.sms },
  { page: "keys", icon: "key", chord: "k", getTitle: () => t().workspace.keys },
  { page: "domains", icon: "globe", chord: "d", getTitle: () => t().workspace.domains },
  { page: "webhooks", icon: "hook", chord: "w", getTitle: () => t().workspace.webhooks },
  { page: "members", icon: "people", chord: "m", getTitle: () => t().workspace.members },
  { page: "suppressions", icon: "shield", chord: "u", getTitle: () => t().workspace.suppressions },
  { page: "credits", icon: "coins", chord: "c", getTitle: () => t().workspace.credits },
  { page: "requests", icon: "pulse", chord: "r", getTitle: () => t().workspace.requests },
  { page: "audit", icon: "list", chord: "a", getTitle: () => t().workspace.audit, isForManagers: true },
  { page: "settings", icon: "sliders", chord: "t", getTitle: () => t().workspace.settings },
];

/** The pages that the person's role opens; somebody who is here without being a member is an operator. */
export function listPages(): NavigationItem[] {
  const role = workspace.value?.role;
  return ITEMS.filter(({ isForManagers }) => isForManagers === undefined || (role !== "member" && role !== "viewer"));
}

/** On a phone's bar; the others are in its menu. */
export const BAR_ITEMS = ITEMS.filter(({ page }) => ["", "emails", "keys", "members"].includes(page));

/** Whether a path of the address is this page or one below it. */
export function isCurrent(path: string, { page }: NavigationItem): boolean {
  const [, , room, , current = ""] = path.split("/");
  return room === "w" && current === page;
}
