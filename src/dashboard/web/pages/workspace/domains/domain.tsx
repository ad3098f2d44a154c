// One domain: how its records are published, with ticks that come by themselves.

import {
  Button,
  Card,
  type Data,
  download,
  ErrorNotice,
  followDomain,
  LinkButton,
  Loading,
  Notice,
  Page,
  t,
  useCall,
  useEffect,
  useForm,
  useState,
  workspacePath,
} from "../../../kit.ts";
import { may } from "../parts/rights.ts";
import { isolate } from "../parts/words.tsx";
import { DeleteDialog, ShareDialog } from "./dialogs.tsx";
import { DomainState } from "./list.tsx";
import { HostSteps, isComplete, Records } from "./records.tsx";

type DomainRecord = Data<"GET /api/v1/domains/:id">;

export function Domain({ id }: { id: string }) {
  const words = t().domains;
  const domain = useCall("GET /api/v1/domains/:id", { params: { id } });
  const host = useCall("GET /api/v1/domains/:id/dns-host", { params: { id } });
  useEffect(() => followDomain(id), [id]);
  const { data, error } = domain;
  const back = (
    <LinkButton look="bare" icon="back" href={workspacePath("domains")}>
      {words.back}
    </LinkButton>
  );
  if (error?.status === 404)
    return (
      <Page title={words.one} back={back}>
        <Notice>{words.gone}</Notice>
      </Page>
    );
  const failed = data === undefined ? error : host.data === undefined ? host.error : null;
  return (
    <Page title={data?.domain ?? words.one} back={back}>
      {data !== undefined && <Head domain={data} isDone={host.data !== undefined && isComplete(host.data)} />}
      {failed !== null && (
        <ErrorNotice
          error={failed}
          retry={() => {
            domain.reload();
            host.reload();
          }}
        />
      )}
      {failed === null && (data === undefined || host.data === undefined) && <Loading />}
      {data !== undefined && host.data !== undefined && (
        <>
          {data.status !== "suspended" && !isComplete(host.data) && <HostSteps at={host.data} />}
          <Records at={host.data} />
        </>
      )}
    </Page>
  );
}

function Head({ domain, isDone }: { domain: DomainRecord; isDone: boolean }) {
  const words = t().domains;
  const name = isolate(domain.domain);
  const texts = {
    verified: isDone ? words.verifiedText(name) : words.verifiedMore(name),
    pending: words.pendingText,
    failed: words.pendingText,
    warning: words.warningText,
    suspended: words.suspendedText,
  };
  const tones = { verified: "good", pending: "plain", failed: "slow", warning: "bad", suspended: "bad" } as const;
  return (
    <Card>
      <div class="dns-head">
        <DomainState status={domain.status} />
        <Actions domain={domain} />
      </div>
      <div role="status">
        <Notice tone={tones[domain.status]}>
          <p>{texts[domain.status]}</p>
        </Notice>
      </div>
    </Card>
  );
}

function Actions({ domain }: { domain: DomainRecord }) {
  const words = t().domains;
  const { id } = domain;
  const [opened, setOpened] = useState<"share" | "delete" | null>(null);
  const zone = useForm(() => download(`/api/v1/domains/${id}/zone`, `${domain.domain}.zone`));
  const close = () => setOpened(null);
  return (
    <>
      <div class="actions">
        <Button isBusy={zone.isBusy} onClick={() => zone.submit({})}>
          {words.zone}
        </Button>
        {may("manage") && (
          <>
            <Button icon="people" onClick={() => setOpened("share")}>
              {words.share}
            </Button>
            {domain.status !== "suspended" && <Button onClick={() => setOpened("delete")}>{words.delete}</Button>}
          </>
        )}
      </div>
      {zone.error !== null && <ErrorNotice error={zone.error} />}
      {opened === "share" && <ShareDialog domain={domain} close={close} />}
      {opened === "delete" && <DeleteDialog domain={domain} close={close} />}
    </>
  );
}
