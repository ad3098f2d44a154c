// Every page, for axe and for pictures.

import type { Populated } from "./populated.ts";
import type { Visitor } from "./visitor.ts";

export interface PageCase {
  name: string;
  /** Path and fragment. */
  path: (world: Populated) => string;
  /** False: nobody is signed in. */
  isSignedIn: boolean;
  /** What is done on the page before it is looked at. */
  act?: (visitor: Visitor) => Promise<void>;
}

const fragment = (link: string) => new URL(link).hash;
const workspace = (page: string) => (world: Populated) => `/dashboard/w/${world.workspaceId}${page}`;

export const PAGES: PageCase[] = [
  { name: "signin", path: () => "/dashboard/signin", isSignedIn: false },
  { name: "setup", path: ({ setupLink }) => `/dashboard/setup${fragment(setupLink)}`, isSignedIn: false },
  { name: "setup-used", path: () => "/dashboard/setup#not-a-link", isSignedIn: false },
  { name: "invite", path: ({ invitationLink }) => `/dashboard/invite${fragment(invitationLink)}`, isSignedIn: false },
  { name: "recover", path: () => "/dashboard/recover#not-a-link", isSignedIn: false },
  { name: "home", path: workspace(""), isSignedIn: true },
  { name: "home-empty", path: ({ emptyWorkspaceId }) => `/dashboard/w/${emptyWorkspaceId}`, isSignedIn: true },
  { name: "emails", path: workspace("/emails"), isSignedIn: true },
  { name: "emails-empty", path: ({ emptyWorkspaceId }) => `/dashboard/w/${emptyWorkspaceId}/emails`, isSignedIn: true },
  { name: "email-delivered", path: (world) => workspace(`/emails/${world.deliveredId}`)(world), isSignedIn: true },
  { name: "email-bounced", path: (world) => workspace(`/emails/${world.bouncedId}`)(world), isSignedIn: true },
  { name: "keys", path: workspace("/keys"), isSignedIn: true },
  { name: "members", path: workspace("/members"), isSignedIn: true },
  { name: "audit", path: workspace("/audit"), isSignedIn: true },
  { name: "account", path: () => "/dashboard/account", isSignedIn: true },
  { name: "not-found", path: workspace("/nothing"), isSignedIn: true },
];

/** Opens the page and waits until all of it is there. */
export async function openPage(visitor: Visitor, { path, act }: PageCase, world: Populated): Promise<void> {
  // A change of the fragment only would load nothing.
  await visitor.page.goto("about:blank");
  await visitor.page.goto(path(world));
  await visitor.until(
    "the page is there",
    `document.querySelector("main h1") !== null && document.querySelector("main .loading") === null`,
  );
  await act?.(visitor);
}
