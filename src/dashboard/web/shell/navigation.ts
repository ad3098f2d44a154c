// The pages of a workspace, in the order of the navigation.

import { t } from "../i18n/index.ts";
import type { IconName } from "../ui/icon.tsx";

export interface NavigationItem {
  /** Behind /dashboard/w/:workspace/. */
  page: string;
  icon: IconName;
  /** The key after `g`. */
  chord: string;
  getTitle: () => string;
}

export const NAVIGATION: NavigationItem[] = [
  { page: "", icon: "home", chord: "h", getTitle: () => t().workspace.home },
  { page: "emails", icon: "mail", chord: "e", getTitle: () => t().workspace.emails },
  { page: "keys", icon: "key", chord: "k", getTitle: () => t().workspace.keys },
  { page: "members", icon: "people", chord: "m", getTitle: () => t().workspace.members },
  { page: "audit", icon: "list", chord: "a", getTitle: () => t().workspace.audit },
];

/** On a phone's bar; the others are in its menu. */
export const BAR_ITEMS = NAVIGATION.slice(0, 4);

/** Whether a path of the address is this page or one below it. */
export function isCurrent(path: string, { page }: NavigationItem): boolean {
  const [, , room, , current = ""] = path.split("/");
  return room === "w" && current === page;
}
