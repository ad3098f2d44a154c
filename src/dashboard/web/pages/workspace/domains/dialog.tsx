// Adding a domain, and its DNS records with what was seen of them.

import {
  Badge,
  Button,
  call,
  CopyButton,
  type Data,
  Dialog,
  ErrorNotice,
  Field,
  Form,
  invalidate,
  Loading,
  Notice,
  t,
  type Tone,
  useCall,
  useForm,
} from "../../../kit.ts";
import { may } from "../parts/rights.ts";
import { isolate } from "../parts/words.tsx";

const DOMAINS = "/api/v1/domains";

type Domain = Data<"GET /api/v1/domains/:id">;
type DnsRecord = Domain["dns"]["spf"];

/** `added` gets the id of the new domain. */
export function AddDomainForm({ added }: { added: (id: string) => void }) {
  const words = t().domain;
  const form = useForm(async ({ domain = "" }) => {
    const { data } = await call("POST /api/v1/domains", { body: { domain: domain.trim() } });
    invalidate(DOMAINS);
    added(data.id);
  });
  return (
    <Form state={form} action={words.add}>
      <Field name="domain" label={words.name} hint={words.nameHint} autoComplete="off" inputMode="text" />
    </Form>
  );
}

export function DomainDialog({ id, close }: { id: string; close: () => void }) {
  const words = t().domain;
  const { data, error } = useCall("GET /api/v1/domains/:id", { params: { id } });
  const form = useForm(async () => {
    await call("POST /api/v1/domains/:id/verification-checks", { params: { id } });
    invalidate(DOMAINS);
  });
  const isSending = data?.status === "verified" || data?.status === "warning";
  return (
    <Dialog title={words.records(isolate(data?.domain ?? "…"))} close={close}>
      {error !== null && <ErrorNotice error={error} />}
      {data === undefined && error === null && <Loading />}
      {data !== undefined && (
        <>
          <p>{isSending ? words.verified(isolate(data.domain)) : words.recordsText}</p>
          {data.hint !== undefined && (
            <Notice tone={isSending ? "plain" : "slow"}>
              <p lang="en">{data.hint}</p>
            </Notice>
          )}
          <ol class="dns-records">
            {[...data.dns.dkim, data.dns.spf, data.dns.dmarc].map((record) => (
              <Record key={record.name + record.type} record={record} />
            ))}
          </ol>
          {!isSending && <p class="small soft">{words.watch}</p>}
          {form.error !== null && <ErrorNotice error={form.error} />}
          {may("send") && (
            <div class="form-actions">
              <Button look="primary" isBusy={form.isBusy} onClick={() => form.submit({})}>
                {words.check}
              </Button>
            </div>
          )}
        </>
      )}
    </Dialog>
  );
}

const TONES: Record<string, Tone> = { found: "good", missing: "slow", mismatch: "bad" };

function Record({ record }: { record: DnsRecord }) {
  const words = t().domain;
  const { type, name, value, status, found } = record;
  const seen = { found: words.statusFound, missing: words.statusMissing, mismatch: words.statusMismatch };
  return (
    <li>
      <p class="dns-head">
        <code>{type}</code>
        <Badge tone={TONES[status ?? ""] ?? "plain"}>{status === undefined ? words.statusUnknown : seen[status]}</Badge>
      </p>
      <CopyLine label={words.host} value={name} />
      <CopyLine label={words.value} value={value} />
      {status === "mismatch" && found !== undefined && (
        <p class="small">{words.found(found.map((each) => isolate(each.slice(0, 300))).join(" · "))}</p>
      )}
    </li>
  );
}

function CopyLine({ label, value }: { label: string; value: string }) {
  return (
    <div class="copy-line">
      <span class="small soft">{label}</span>
      <code class="line">{value}</code>
      <CopyButton look="bare" text={value} />
    </div>
  );
}
