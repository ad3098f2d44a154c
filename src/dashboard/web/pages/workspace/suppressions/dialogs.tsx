// Suppressing one address, and lifting a suppression.

import {
  ApiError,
  call,
  ConfirmDialog,
  type Data,
  Dialog,
  Field,
  Form,
  invalidate,
  serverNow,
  showToast,
  t,
  useForm,
} from "../../../kit.ts";
import { isolate } from "../parts/words.tsx";

export const SUPPRESSIONS = "/api/v1/suppressions";

export function AddDialog({ close }: { close: () => void }) {
  const words = t().suppressions;
  const form = useForm(async ({ address = "", list = "" }) => {
    const asked = serverNow();
    const body = { address: address.trim(), ...(list.trim() === "" ? {} : { list: list.trim() }) };
    const { data } = await call("POST /api/v1/suppressions", { body });
    invalidate(SUPPRESSIONS);
    close();
    const name = isolate(data.address);
    if (data.reason !== "manual" || Date.parse(data.suppressedAt) < asked - CLOCKS_MS) showToast(words.wasThere(name));
    else showToast(data.list === null ? words.added(name) : words.addedOfList(name, isolate(data.list)));
  });
  return (
    <Dialog title={words.add} close={close}>
      <Form state={form} action={words.add} cancel={close}>
        <Field name="address" label={words.address} hint={words.addressHint} autoComplete="off" isFocused />
        <Field name="list" label={words.listOptional} hint={words.listHint} autoComplete="off" />
      </Form>
    </Dialog>
  );
}

/** How well the server's clock is known. */
const CLOCKS_MS = 15_000;

interface LiftProps {
  of: Data<"GET /api/v1/suppressions">[number];
  address: string;
  done: () => void;
  close: () => void;
}

export function LiftDialog({ of: { channel, list, reason }, address, done, close }: LiftProps) {
  const words = t().suppressions;
  const name = isolate(address);
  const run = async () => {
    const query = { channel, ...(list === null ? {} : { list }) };
    try {
      await call("DELETE /api/v1/suppressions/:address", { params: { address }, query });
    } catch (error) {
      // Somebody else, or another tab, was first.
      if (!(error instanceof ApiError && error.status === 404)) throw error;
    }
    invalidate(SUPPRESSIONS);
    done();
    showToast(words.lifted(name));
  };
  return (
    <ConfirmDialog title={words.liftTitle(name)} action={words.lift} run={run} close={close}>
      <p>{list === null ? words.liftAll : words.liftOfList(isolate(list))}</p>
      <p>{words.liftWhy[reason]}</p>
    </ConfirmDialog>
  );
}
