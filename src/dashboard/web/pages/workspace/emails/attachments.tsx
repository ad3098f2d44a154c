// The files that go with an email, each as a download.

import { Button, Card, type Data, download, ErrorNotice, formatBytes, t, useForm } from "../../../kit.ts";
import { useSeesContent } from "../parts/rights.ts";

type EmailRecord = Data<"GET /api/v1/emails/:id">;
type Attachment = EmailRecord["attachments"][number];

export function Attachments({ email: { id, attachments } }: { email: EmailRecord }) {
  const isSeen = useSeesContent();
  return (
    <Card title={t().email.attachments}>
      <ul class="rows">
        {attachments.map((attachment, n) => (
          <li key={n}>
            <AttachmentRow attachment={attachment} path={`/api/v1/emails/${id}/attachments/${n}`} isSeen={isSeen} />
          </li>
        ))}
      </ul>
      {isSeen === false && <p class="soft">{t().email.contentsHidden}</p>}
    </Card>
  );
}

interface RowProps {
  attachment: Attachment;
  path: string;
  isSeen: boolean | undefined;
}

function AttachmentRow({ attachment: { filename, contentType, contentId, bytes }, path, isSeen }: RowProps) {
  const words = t().email;
  const { isBusy, error, submit } = useForm(() => download(path, filename));
  const facts = [contentType, formatBytes(bytes), ...(contentId === null ? [] : [words.inline(contentId)])];
  return (
    <>
      <div class="row-text">
        <strong>
          <bdi>{filename}</bdi>
        </strong>
        <span class="small soft">{facts.join(" · ")}</span>
        {error !== null && <ErrorNotice error={error} />}
      </div>
      {isSeen === true && (
        <Button isBusy={isBusy} onClick={() => submit({})} aria-label={`${words.download} ${filename}`}>
          {words.download}
        </Button>
      )}
    </>
  );
}
