// Invitations: made, made anew, withdrawn, and accepted by whoever opens the link.

import type { Plan } from "../../config/config.ts";
import type { Context } from "../../platform/context.ts";
import { AppError } from "../../platform/errors.ts";
import { getCaller, type Role } from "../../platform/http/auth.ts";
import { getArrival } from "../../platform/http/browser-request.ts";
import { notFound } from "../../platform/http/errors.ts";
import { newId } from "../../platform/uuid.ts";
import { linkUsed } from "../accounts/links.ts";
import { createToken, hashToken, isToken } from "../accounts/token.ts";
import type { RecordAudit } from "../audit/record.ts";
import type { SendSystemMail } from "../emails/system-mail.ts";
import { requireBelowLimit } from "../plans/limit.ts";
import { requireAuthorityOver, requireMayGive } from "./authority.ts";
import { writeInvitation } from "./invitation-mail.ts";
import type { InvitationRow, InvitationStore, ListedInvitation } from "./invitation-store.ts";
import type { MailLimit } from "./mail-limit.ts";
import type { MemberStore } from "./store.ts";

const LIFETIME_MS = 7 * 24 * 60 * 60_000;

export interface InviteDeps extends Pick<Context, "commit" | "clock" | "random"> {
  members: MemberStore;
  invitations: InvitationStore;
  workspaces: {
    byId(id: number): { name: string; blockedAt: number | null; rateBlockedAt: number | null } | undefined;
  };
  recordAudit: RecordAudit;
  findPlan: (workspaceId: number) => Plan;
  sendSystemMail: SendSystemMail;
  mayMail: MailLimit;
  /** Where people open the dashboard, where the request does not say it. */
  findPlace: () => { origin: string };
  /** The configured one; null: the dashboard is on the machine of whoever asks. */
  publicUrl: string | null;
  hostname: string;
}

/** An invitation with the link that is shown this once. */
export interface Invited {
  invitation: ListedInvitation;
  url: string;
  mailed: boolean;
}

interface Invitee {
  email: string;
  role: Role;
}

/** A request of the workspace about its invitations. */
export interface Inviter {
  request: Request;
  workspaceId: number;
}

/** One to the same address that is still open is replaced, as if it were withdrawn. Throws 402, 403 and 409. */
export async function createInvitation(by: Inviter, { email, role }: Invitee, deps: InviteDeps): Promise<Invited> {
  const { request, workspaceId } = by;
  const { members, invitations } = deps;
  const mayMail = deps.mayMail(workspaceId);
  return deps.commit(() => {
    const now = deps.clock.now();
    if (!isFirstOwner(by, role, deps)) {
      requireMayGive(request, role);
      for (const replaced of invitations.openTo(workspaceId, email, now)) requireAuthorityOver(request, replaced.role);
    }
    if (members.hasEmail(workspaceId, email)) throw alreadyMember();
    invitations.deletePendingTo(workspaceId, email);
    requireRoom(workspaceId, deps);
    const uid = newId(now, deps.random);
    const { token, hash } = createToken(deps.random);
    const invitedBy = findInviter(request);
    const expiresAt = now + LIFETIME_MS;
    invitations.insert({ uid, workspaceId, email, role, hash, invitedBy, createdAt: now, expiresAt });
    deps.recordAudit({ workspaceId, request, action: "invitation.created", target: email, detail: { role } });
    return tell({ by, uid, token, mayMail }, deps);
  });
}

/** Null: an API key. */
function findInviter(request: Request): number | null {
  const caller = getCaller(request);
  return caller.kind === "member" ? caller.userId : null;
}

/** A key may invite the first owner of a workspace that has none yet, as one that a program made. */
function isFirstOwner({ request, workspaceId }: Inviter, role: Invitee["role"], { members }: InviteDeps): boolean {
  return role === "owner" && getCaller(request).kind === "key" && members.countForWorkspace(workspaceId) === 0;
}

/** A new link in place of the old one, for seven days from now. Throws 402, 403 and 404. */
export async function renewInvitation(by: Inviter, uid: string, deps: InviteDeps): Promise<Invited> {
  const { request, workspaceId } = by;
  const mayMail = deps.mayMail(workspaceId);
  return deps.commit(() => {
    const invitation = findPending(by, uid, deps);
    // Its link is shown to the caller, who could use it.
    requireMayGive(request, invitation.role);
    const now = deps.clock.now();
    if (invitation.expiresAt <= now) requireRoom(workspaceId, deps);
    const { token, hash } = createToken(deps.random);
    // The link is theirs now, and ends with what they may.
    deps.invitations.renew(invitation, { hash, expiresAt: now + LIFETIME_MS, invitedBy: findInviter(request) });
    deps.recordAudit({ workspaceId, request, action: "invitation.renewed", target: invitation.email });
    return tell({ by, uid, token, mayMail }, deps);
  });
}

/** Its link works no more. Throws 403 and 404. */
export async function withdrawInvitation(by: Inviter, uid: string, deps: InviteDeps): Promise<void> {
  const { request, workspaceId } = by;
  await deps.commit(() => {
    const invitation = findPending(by, uid, deps);
    requireAuthorityOver(request, invitation.role);
    deps.invitations.delete(invitation);
    deps.recordAudit({ workspaceId, request, action: "invitation.withdrawn", target: invitation.email });
  });
}

type OpenDeps = Pick<InviteDeps, "invitations" | "clock">;

/** An open invitation by the token of its link. */
export function findInvitation(token: string, { invitations, clock }: OpenDeps) {
  return isToken(token) ? invitations.openByHash(hashToken(token), clock.now()) : undefined;
}

/** Makes a person a member by the token of a link, inside the caller's transaction. Throws 409 and 410. */
export function acceptInvitation(
  { token, userId, request }: { token: string; userId: number; request: Request },
  deps: OpenDeps & Pick<InviteDeps, "members" | "recordAudit">,
): void {
  const invitation = findInvitation(token, deps);
  if (invitation === undefined) throw linkUsed();
  const { workspaceId, role, email } = invitation;
  const now = deps.clock.now();
  if (!deps.members.insert({ workspaceId, userId, role, createdAt: now }))
    throw new AppError("ALREADY_MEMBER", "You are a member of this workspace already");
  deps.invitations.accept(invitation, userId, now);
  const detail = { role, invited: email };
  deps.recordAudit({ workspaceId, request, userId, action: "member.joined", target: null, detail });
}

/** Inside the transaction that made the link: mails it if that can be, and shows it. */
function tell(made: { by: Inviter; uid: string; token: string; mayMail: boolean }, deps: InviteDeps): Invited {
  const { by, uid, token, mayMail } = made;
  const { request, workspaceId } = by;
  const invitation = findPending(by, uid, deps);
  const caller = getCaller(request);
  const base = deps.publicUrl ?? (caller.kind === "member" ? getArrival(request).origin : deps.findPlace().origin);
  const url = `${base}/dashboard/invite#${token}`;
  const workspace = deps.workspaces.byId(workspaceId);
  const mail = { invitation, url, workspaceName: workspace?.name ?? "", hostname: deps.hostname };
  // A blocked workspace mails no invitations either.
  const canSend = workspace?.blockedAt === null && workspace.rateBlockedAt === null;
  return { invitation, url, mailed: mayMail && canSend && deps.sendSystemMail(writeInvitation(mail)) };
}

/** Throws 402 when members and open invitations are as many as the plan allows. */
function requireRoom(workspaceId: number, { members, invitations, findPlan, clock }: InviteDeps): void {
  requireBelowLimit(
    "member",
    findPlan(workspaceId).members,
    () => members.countForWorkspace(workspaceId) + invitations.countOpen(workspaceId, clock.now()),
  );
}

function findPending({ workspaceId }: Inviter, uid: string, { invitations }: InviteDeps): ListedInvitation {
  const invitation = invitations.pendingByUid(workspaceId, uid);
  if (invitation === undefined)
    throw notFound("This workspace has no invitation with this id that is not accepted yet");
  return invitation;
}

export function alreadyMember(): AppError {
  return new AppError("ALREADY_MEMBER", "This person is a member of the workspace already", { field: "email" });
}

/** Whether its link works. */
export function getState({ acceptedAt, expiresAt }: InvitationRow, now: number): "open" | "accepted" | "expired" {
  if (acceptedAt !== null) return "accepted";
  return expiresAt > now ? "open" : "expired";
}
