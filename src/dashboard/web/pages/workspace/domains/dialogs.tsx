// What is done to a domain in a dialog: share its records, delete it.

import {
  ApiError,
  Button,
  call,
  CodeBlock,
  ConfirmDialog,
  type Data,
  Dialog,
  ErrorNotice,
  invalidate,
  showToast,
  t,
  Time,
  useForm,
  useLocation,
  useState,
  workspacePath,
} from "../../../kit.ts";
import { isolate } from "../parts/words.tsx";

interface DialogProps {
  domain: Data<"GET /api/v1/domains/:id">;
  close: () => void;
}

const DOMAINS = "/api/v1/domains";

export function ShareDialog({ domain: { id, sharedUntil }, close }: DialogProps) {
  const words = t().domains;
  const params = { id };
  const [link, setLink] = useState<string | null>(null);
  const make = useForm(async () => {
    setLink((await call("POST /api/v1/domains/:id/share", { params })).data.url);
    invalidate(DOMAINS);
  });
  const end = useForm(async () => {
    await call("DELETE /api/v1/domains/:id/share", { params });
    invalidate(DOMAINS);
    showToast(words.shareEnded);
    close();
  });
  const error = make.error ?? end.error;
  return (
    <Dialog title={words.shareTitle} close={close}>
      <p>{link === null ? words.shareText : words.shareMade}</p>
      {link === null && sharedUntil !== null && (
        <p>
          {words.shareUntil} <Time value={sharedUntil} isFull />. {words.shareReplaces}
        </p>
      )}
      {link !== null && <CodeBlock code={link} label={words.shareCopy} />}
      {error !== null && <ErrorNotice error={error} />}
      <div class="form-actions">
        {sharedUntil !== null && (
          <Button isBusy={end.isBusy} onClick={() => end.submit({})}>
            {words.shareEnd}
          </Button>
        )}
        {link === null && (
          <Button look="primary" isBusy={make.isBusy} onClick={() => make.submit({})}>
            {sharedUntil === null ? words.shareMake : words.shareAgain}
          </Button>
        )}
      </div>
    </Dialog>
  );
}

export function DeleteDialog({ domain: { id, domain }, close }: DialogProps) {
  const words = t().domains;
  const { route } = useLocation();
  const run = async () => {
    try {
      await call("DELETE /api/v1/domains/:id", { params: { id } });
    } catch (error) {
      // Somebody else, or another tab, was first.
      if (!(error instanceof ApiError && error.status === 404)) throw error;
    }
    showToast(words.deleted(isolate(domain)));
    route(workspacePath("domains"));
  };
  return (
    <ConfirmDialog title={words.deleteTitle(isolate(domain))} action={words.delete} run={run} close={close}>
      <p>{words.deleteText}</p>
    </ConfirmDialog>
  );
}
