// The people of the workspace, and those who are invited.

import {
  Badge,
  Button,
  call,
  Card,
  type Column,
  ConfirmDialog,
  type Data,
  ErrorNotice,
  invalidate,
  Loading,
  me,
  Page,
  showToast,
  t,
  Table,
  Time,
  useCall,
  useState,
} from "../../../kit.ts";
import { InviteDialog, LinkDialog, type MadeInvitation } from "./invite.tsx";
import { RoleSelect } from "./role-select.tsx";
import { may } from "../parts/rights.ts";
import { isolate, Line } from "../parts/words.tsx";

const MEMBERS = "/api/v1/workspace/members";
const INVITATIONS = "/api/v1/workspace/invitations";

type Member = Data<"GET /api/v1/workspace/members">[number];
type Invitation = Data<"GET /api/v1/workspace/invitations">[number];

export function Members() {
  const words = t().members;
  const { data, error, reload } = useCall("GET /api/v1/workspace/members");
  const [removed, setRemoved] = useState<Member | null>(null);
  const [isInviting, setInviting] = useState(false);
  const [made, setMade] = useState<MadeInvitation | null>(null);
  const invite = may("people") ? (
    <Button look="primary" icon="plus" onClick={() => setInviting(true)}>
      {words.invite}
    </Button>
  ) : undefined;
  return (
    <Page title={words.title} intro={words.text} actions={invite}>
      {error !== null && <ErrorNotice error={error} retry={reload} />}
      {data === undefined && error === null && <Loading />}
      {data !== undefined && (
        <Card>
          <Table caption={words.title} columns={buildColumns(setRemoved)} rows={data} getKey={({ id }) => id} />
        </Card>
      )}
      {may("people") && <Invitations made={setMade} />}
      {isInviting && <InviteDialog made={setMade} close={() => setInviting(false)} />}
      {made !== null && <LinkDialog invitation={made} close={() => setMade(null)} />}
      {removed !== null && <RemoveDialog of={removed} close={() => setRemoved(null)} />}
    </Page>
  );
}

function isSelf({ id }: Member): boolean {
  return id === me.value?.user.id;
}

/** Admins have no say over owners. */
function maySetRole(member: Member): boolean {
  return may("people") && (may("own") || member.role !== "owner");
}

function buildColumns(remove: (member: Member) => void): Column<Member>[] {
  const words = t().members;
  return [
    {
      key: "person",
      title: words.person,
      isName: true,
      cell: (member) => (
        <span class="person-cell">
          <span>
            <Line>{member.name}</Line>
            {isSelf(member) && <Badge>{words.you}</Badge>}
          </span>
          <span class="small soft">
            <Line>{member.email}</Line>
            {!member.emailVerified && words.unverified}
          </span>
        </span>
      ),
    },
    {
      key: "role",
      title: words.role,
      cell: (member) => (maySetRole(member) ? <RoleOf member={member} /> : t().roles[member.role]),
    },
    { key: "seen", title: words.seen, cell: ({ lastSeenAt }) => <Time value={lastSeenAt} /> },
    {
      key: "actions",
      title: t().keys.actions,
      isActions: true,
      cell: (member) =>
        (isSelf(member) || maySetRole(member)) && (
          <Button look="bare" aria-label={nameRemoval(member)} onClick={() => remove(member)}>
            {isSelf(member) ? words.leave : words.remove}
          </Button>
        ),
    },
  ];
}

function nameRemoval(member: Member): string {
  const words = t().members;
  return isSelf(member) ? words.leaveTitle : words.removeTitle(isolate(member.name));
}

function RoleOf({ member }: { member: Member }) {
  const words = t().members;
  const change = async (role: Member["role"]) => {
    await call("PATCH /api/v1/workspace/members/:id", { params: { id: member.id }, body: { role } });
    invalidate(MEMBERS);
    showToast(words.changed(isolate(member.name), t().roles[role]));
  };
  return (
    <RoleSelect label={words.roleOf(isolate(member.name))} role={member.role} mayBeOwner={may("own")} change={change} />
  );
}

function RemoveDialog({ of: member, close }: { of: Member; close: () => void }) {
  const words = t().members;
  const run = async () => {
    await call("DELETE /api/v1/workspace/members/:id", { params: { id: member.id } });
    // Without the workspace there is no page of it.
    if (isSelf(member)) return location.assign("/dashboard");
    invalidate(MEMBERS);
    showToast(words.removed(isolate(member.name)));
  };
  return (
    <ConfirmDialog
      title={nameRemoval(member)}
      action={isSelf(member) ? words.leave : words.remove}
      run={run}
      close={close}
    >
      <p>{isSelf(member) ? words.leaveText : words.removeText}</p>
    </ConfirmDialog>
  );
}

function Invitations({ made }: { made: (invitation: MadeInvitation) => void }) {
  const words = t().invitations;
  const { data, error, reload } = useCall("GET /api/v1/workspace/invitations");
  const [revoked, setRevoked] = useState<Invitation | null>(null);
  const [failed, setFailed] = useState<typeof error>(null);
  if (data === undefined) return error === null ? <Loading /> : <ErrorNotice error={error} retry={reload} />;
  const resend = async ({ id }: Invitation) => {
    setFailed(null);
    made((await call("POST /api/v1/workspace/invitations/:id/resend", { params: { id } })).data);
    invalidate(INVITATIONS);
  };
  const revoke = async ({ id, email }: Invitation) => {
    await call("DELETE /api/v1/workspace/invitations/:id", { params: { id } });
    invalidate(INVITATIONS);
    showToast(words.revoked(isolate(email)));
  };
  const open = data.filter(({ state }) => state !== "accepted");
  return (
    <Card title={words.title}>
      {failed !== null && <ErrorNotice error={failed} />}
      {open.length === 0 ? (
        <p class="soft">{words.none}</p>
      ) : (
        <Table
          caption={words.title}
          rows={open}
          getKey={({ id }) => id}
          columns={[
            { key: "email", title: words.email, isName: true, cell: ({ email }) => <Line>{email}</Line> },
            { key: "role", title: t().members.role, cell: ({ role }) => t().roles[role] },
            { key: "by", title: words.by, cell: ({ invitedBy }) => <Line>{invitedBy ?? "–"}</Line> },
            { key: "expires", title: words.expires, cell: ({ expiresAt }) => <Time value={expiresAt} /> },
            {
              key: "actions",
              title: t().keys.actions,
              isActions: true,
              cell: (invitation) => (
                <>
                  <Button look="bare" onClick={() => void resend(invitation).catch(setFailed)}>
                    {words.resend}
                  </Button>
                  <Button look="bare" onClick={() => setRevoked(invitation)}>
                    {words.revoke}
                  </Button>
                </>
              ),
            },
          ]}
        />
      )}
      {revoked !== null && (
        <ConfirmDialog
          title={words.revokeTitle(isolate(revoked.email))}
          action={words.revoke}
          run={() => revoke(revoked)}
          close={() => setRevoked(null)}
        >
          <p>{words.revokeText}</p>
        </ConfirmDialog>
      )}
    </Card>
  );
}
