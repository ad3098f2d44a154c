import { type Data, Dialog, formatNumber, LinkButton, t, Time, workspacePath } from "../../../kit.ts";
import { Fact } from "../parts/fact.tsx";

type Logged = Data<"GET /api/v1/workspace/requests">[number];

const MESSAGE = /^\/api\/v1\/(emails|sms)\/([0-9a-f]{8}-[0-9a-f-]{27})/;

/** One request, with what its answer said. */
export function RequestDialog({ of: request, close }: { of: Logged; close: () => void }) {
  const words = t().requests;
  const { method, path, status, error, key, ms, at, id } = request;
  const [, kind = "", messageId = ""] = MESSAGE.exec(path) ?? [];
  return (
    <Dialog title={words.one} close={close}>
      <dl class="facts">
        <Fact name={words.request}>
          <code>
            {method} {path}
          </code>
        </Fact>
        <Fact name={words.status}>{status}</Fact>
        {error !== null && (
          <>
            <Fact name={words.error}>
              <code>{error.code}</code>
            </Fact>
            <Fact name={words.said}>
              <bdi>{error.message}</bdi>
            </Fact>
            {error.field !== null && (
              <Fact name={words.field}>
                <code>{error.field}</code>
              </Fact>
            )}
            {error.hint !== null && (
              <Fact name={words.hint}>
                <bdi>{error.hint}</bdi>
              </Fact>
            )}
          </>
        )}
        <Fact name={words.key}>
          {key === null ? (
            words.keyGone
          ) : (
            <>
              <bdi>{key.name}</bdi> <code>svc_{key.prefix}…</code>
            </>
          )}
        </Fact>
        <Fact name={words.duration}>{words.milliseconds(formatNumber(ms))}</Fact>
        <Fact name={words.when}>
          <Time value={at} isFull />
        </Fact>
        <Fact name={words.id}>
          <code>{id}</code>
        </Fact>
      </dl>
      {messageId !== "" && (
        <div class="actions">
          <LinkButton href={workspacePath(`${kind}/${messageId}`)}>
            {kind === "emails" ? words.email : words.sms}
          </LinkButton>
        </div>
      )}
    </Dialog>
  );
}
