// What stands beside the title of the list of emails: write one, send a test, export what the filters find.

import { Button, download, ErrorNotice, LinkButton, t, useForm, workspacePath } from "../../../kit.ts";
import { may } from "../parts/rights.ts";
import { type Filter, toQuery } from "./filter.ts";
import { TestSendButton } from "./test-send.tsx";

const FILE = "/api/v1/emails.csv";

export function ListActions({ filter, isFiltered }: { filter: Filter; isFiltered: boolean }) {
  const words = t().emails;
  const search = new URLSearchParams(toQuery(filter)).toString();
  const file = useForm(() => download(search === "" ? FILE : `${FILE}?${search}`, "emails.csv"));
  return (
    <>
      {may("send") && (
        <LinkButton look="primary" href={workspacePath("emails/new")}>
          {words.write}
        </LinkButton>
      )}
      <TestSendButton />
      {file.error !== null && <ErrorNotice error={file.error} />}
      <Button isBusy={file.isBusy} onClick={() => file.submit({})}>
        {isFiltered ? words.exportFiltered : words.export}
      </Button>
    </>
  );
}
