// The pages of a workspace, by their addresses.

import { NotFound, useLocation } from "../../kit.ts";
import { Audit } from "./audit.tsx";
import { Email } from "./emails/email.tsx";
import { Emails } from "./emails/index.tsx";
import { Home } from "./start/index.tsx";
import { Keys } from "./keys.tsx";
import { Members } from "./members/index.tsx";

/** /dashboard/w/:workspace/PAGE/ID */
export function WorkspacePages() {
  const [page = "", id = ""] = useLocation().path.split("/").slice(4);
  if (page === "emails" && id !== "") return <Email key={id} id={id} />;
  const Shown = PAGES[page];
  return Shown === undefined ? <NotFound /> : <Shown />;
}

const PAGES: Record<string, () => ReturnType<typeof Home>> = {
  "": Home,
  emails: Emails,
  keys: Keys,
  members: Members,
  audit: Audit,
};
