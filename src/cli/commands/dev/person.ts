// The person of the sandbox: operator of the server and owner of the workspace, who signs in by a link.

import { openUserStore } from "../../../modules/accounts/store.ts";
import { openMemberStore } from "../../../modules/members/store.ts";
import { openWorkspaceStore } from "../../../modules/workspaces/store.ts";
import { systemClock } from "../../../platform/clock.ts";
import { systemRandom } from "../../../platform/random.ts";
import { newId } from "../../../platform/uuid.ts";
import { SANDBOX_DOMAIN } from "../../../sandbox/dns/zone.ts";
import type { App } from "../../../server/app.ts";

const EMAIL = `you@${SANDBOX_DOMAIN}`;
const NAME = "Sandbox owner";

/** Makes the path of a link that signs the person in at once, and the person where there is none: somebody may have removed them. */
export async function linkPerson({ db, committer, accounts }: App, workspaceUid: string): Promise<string> {
  const users = openUserStore(db);
  const members = openMemberStore(db);
  const workspaces = openWorkspaceStore(db);
  const { path } = await committer.commit(() => {
    const createdAt = systemClock.now();
    const uid = newId(createdAt, systemRandom);
    const { id } = users.byEmail(EMAIL) ?? users.insert({ uid, email: EMAIL, name: NAME, isOperator: true, createdAt });
    const workspace = workspaces.byUid(workspaceUid);
    if (workspace !== undefined) members.insert({ workspaceId: workspace.id, userId: id, role: "owner", createdAt });
    return accounts.createLink({ kind: "sandbox", userId: id });
  });
  return path;
}
