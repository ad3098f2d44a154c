import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { wholeWorkspaceCaller } from "../../platform/http/auth.ts";
import { jsonBody } from "../../platform/http/body/validate.ts";
import { answers, Deleted, describe } from "../../platform/http/openapi.ts";
import { CursorMeta, CursorQuery, type ListPages } from "../../platform/http/pagination.ts";
import { uuid } from "../../platform/http/request-schemas.ts";
import { toIsoTime, toIsoTimeOrNull } from "../../platform/http/times.ts";
import { toUserAddress } from "../accounts/schema.ts";
import type { ListedInvitation } from "./invitation-store.ts";
import {
  createInvitation,
  getState,
  type InviteDeps,
  type Invited,
  type Inviter,
  renewInvitation,
  withdrawInvitation,
} from "./invite.ts";
import { changeRole, type ManageDeps, type NamedMember, removeMember } from "./manage.ts";
import { Invitation, InvitationCreate, InvitationWithLink, Member, MemberChange } from "./schema.ts";
import type { MemberRow } from "./store.ts";

const TAG = "Members";
const MEMBERS = "members";
const INVITATIONS = "invitations";
const OneInvitation = Type.Object({ id: uuid() });
const OneMember = Type.Object({ id: uuid("The id of the person.") });

export interface MemberDeps extends ManageDeps {
  pages: ListPages;
}

export function memberRoutes(deps: MemberDeps) {
  return new Elysia({ name: "members", prefix: "/api/v1/workspace/members" })
    .get(
      "",
      ({ request, query }) => {
        const { workspaceId } = wholeWorkspaceCaller(request);
        return deps.pages.list(
          query,
          MEMBERS,
          (before, limit) => deps.members.list(workspaceId, before, limit),
          showMember,
        );
      },
      {
        query: CursorQuery,
        detail: describe({
          id: "listMembers",
          tag: TAG,
          summary: "List the members of the workspace, newest first",
          description: "The people who can use it in the dashboard.",
          responses: answers(200, Type.Array(Member), [401, 403, 422], CursorMeta),
        }),
      },
    )
    .patch(
      "/:id",
      async ({ request, params, body }) => ({
        data: showMember(await changeRole(nameMember(request, params.id), body.role, deps)),
      }),
      {
        params: OneMember,
        ...jsonBody(MemberChange),
        detail: describe({
          id: "updateMember",
          tag: TAG,
          summary: "Change a member's role",
          description:
            "It applies to the next request. Only an owner may make owners or change them, and the last owner stays one. A lower role ends the member's open invitations.",
          responses: answers(200, Member, [400, 401, 403, 404, 409, 413, 415, 422, 503]),
        }),
      },
    )
    .delete(
      "/:id",
      async ({ request, params }) => {
        const named = nameMember(request, params.id);
        await removeMember(named, deps);
        return { data: { id: named.uid, deleted: true } };
      },
      {
        params: OneMember,
        detail: describe({
          id: "deleteMember",
          tag: TAG,
          summary: "Remove a member, or leave",
          description:
            "The person's next request is refused, and their open invitations end. Everybody may remove themselves, except the last owner.",
          responses: answers(200, Deleted, [401, 403, 404, 409, 422, 503]),
        }),
      },
    );
}

function nameMember(request: Request, id: string): NamedMember {
  return { request, workspaceId: wholeWorkspaceCaller(request).workspaceId, uid: id.toLowerCase() };
}

function showMember(member: MemberRow): typeof Member.static {
  const { uid, name, email, emailVerifiedAt, role, createdAt, lastSeenAt } = member;
  return {
    id: uid,
    name,
    email,
    emailVerified: emailVerifiedAt !== null,
    role,
    createdAt: toIsoTime(createdAt),
    lastSeenAt: toIsoTimeOrNull(lastSeenAt),
  };
}

export interface InvitationDeps extends InviteDeps {
  pages: ListPages;
}

export function invitationRoutes(deps: InvitationDeps) {
  const show = (invitation: ListedInvitation) => showInvitation(invitation, deps.clock.now());
  const showLink = ({ invitation, url, mailed }: Invited) => ({ ...show(invitation), url, mailed });
  return new Elysia({ name: "invitations", prefix: "/api/v1/workspace/invitations" })
    .get(
      "",
      ({ request, query }) => {
        const { workspaceId } = wholeWorkspaceCaller(request);
        return deps.pages.list(
          query,
          INVITATIONS,
          (before, limit) => deps.invitations.list(workspaceId, before, limit),
          show,
        );
      },
      {
        query: CursorQuery,
        detail: describe({
          id: "listInvitations",
          tag: TAG,
          summary: "List invitations, newest first",
          description: "With who joined by each. They are removed some months after their time is over.",
          responses: answers(200, Type.Array(Invitation), [401, 403, 422], CursorMeta),
        }),
      },
    )
    .post(
      "",
      async ({ request, body, set }) => {
        const by = nameInviter(request);
        const invited = await createInvitation(by, { ...body, email: toUserAddress(body.email) }, deps);
        set.status = 201;
        return { data: showLink(invited) };
      },
      {
        ...jsonBody(InvitationCreate),
        detail: describe({
          id: "createInvitation",
          tag: TAG,
          summary: "Invite a person",
          description:
            "Its link works once, for seven days, for whoever opens it. It is mailed if the server has an address to send it from. It replaces an open invitation to the same address. Members and open invitations count towards the plan's limit. Only an owner may invite owners and replace such an invitation, or a key while there are no members.",
          responses: answers(201, InvitationWithLink, [400, 401, 402, 403, 409, 413, 415, 422, 503]),
        }),
      },
    )
    .delete(
      "/:id",
      async ({ request, params }) => {
        const id = params.id.toLowerCase();
        await withdrawInvitation(nameInviter(request), id, deps);
        return { data: { id, deleted: true } };
      },
      {
        params: OneInvitation,
        detail: describe({
          id: "deleteInvitation",
          tag: TAG,
          summary: "Withdraw an invitation",
          description: "Its link works no more. One that was accepted is not found.",
          responses: answers(200, Deleted, [401, 403, 404, 422, 503]),
        }),
      },
    )
    .post(
      "/:id/resend",
      async ({ request, params }) => {
        const by = nameInviter(request);
        return { data: showLink(await renewInvitation(by, params.id.toLowerCase(), deps)) };
      },
      {
        params: OneInvitation,
        detail: describe({
          id: "resendInvitation",
          tag: TAG,
          summary: "Make a new link for an invitation",
          description: "For seven days from now; the old link works no more. It is mailed as the first one.",
          responses: answers(200, InvitationWithLink, [400, 401, 402, 403, 404, 413, 415, 422, 503]),
        }),
      },
    );
}

function nameInviter(request: Request): Inviter {
  return { request, workspaceId: wholeWorkspaceCaller(request).workspaceId };
}

function showInvitation(row: ListedInvitation, now: number): typeof Invitation.static {
  const { uid, email, role, inviterName, createdAt, expiresAt, acceptedAt } = row;
  const { accepterUid, accepterName, accepterEmail } = row;
  const isKnown = accepterUid !== null && accepterName !== null && accepterEmail !== null;
  return {
    id: uid,
    email,
    role,
    state: getState(row, now),
    invitedBy: inviterName,
    createdAt: toIsoTime(createdAt),
    expiresAt: toIsoTime(expiresAt),
    acceptedAt: toIsoTimeOrNull(acceptedAt),
    acceptedBy: isKnown ? { id: accepterUid, name: accepterName, email: accepterEmail } : null,
  };
}
