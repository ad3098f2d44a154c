// Where the person is signed in.

import {
  Badge,
  Button,
  call,
  Card,
  ErrorNotice,
  invalidate,
  Loading,
  showToast,
  t,
  Time,
  useCall,
  useForm,
} from "../../kit.ts";
import { describeBrowser } from "./user-agent.ts";

const PATH = "/api/v1/auth/sessions";

export function Sessions() {
  const sessions = useCall("GET /api/v1/auth/sessions");
  const words = t().account;
  const endOthers = useForm(async () => {
    const { data } = await call("DELETE /api/v1/auth/sessions");
    invalidate(PATH);
    showToast(t().account.sessionsEnded(data.ended));
  });
  const end = async (id: string) => {
    await call("DELETE /api/v1/auth/sessions/:id", { params: { id } });
    invalidate(PATH);
  };
  const rows = sessions.data ?? [];
  return (
    <Card
      title={words.sessionsTitle}
      intro={words.sessionsIntro}
      actions={
        rows.length > 1 && (
          <Button isBusy={endOthers.isBusy} onClick={() => endOthers.submit({})}>
            {words.endOthers}
          </Button>
        )
      }
    >
      {endOthers.error !== null && <ErrorNotice error={endOthers.error} />}
      {sessions.error !== null && <ErrorNotice error={sessions.error} retry={sessions.reload} />}
      {sessions.data === undefined && sessions.error === null && <Loading />}
      <ul class="rows">
        {rows.map((session) => {
          const browser = describeBrowser(session.userAgent) ?? words.unknownBrowser;
          return (
            <li key={session.id}>
              <div class="row-text">
                <strong>
                  {browser} {session.isCurrent && <Badge tone="good">{words.thisSession}</Badge>}
                </strong>
                <span class="soft small">
                  {words.methods[session.method]} <Time value={session.createdAt} />
                  {session.network !== null && ` · ${session.network}`}
                  {/* It is known to ten minutes: of this one that would be wrong. */}
                  {!session.isCurrent && (
                    <>
                      {" "}
                      · {words.lastSeen} <Time value={session.lastSeenAt} />
                    </>
                  )}
                </span>
              </div>
              {!session.isCurrent && (
                <Button look="bare" onClick={() => void end(session.id)} aria-label={words.endNamed(browser)}>
                  {words.end}
                </Button>
              )}
            </li>
          );
        })}
      </ul>
    </Card>
  );
}
