// The dependencies of the operator's routes about workspaces, and the errors that they share.

import type { Context } from "../../../platform/context.ts";
import type { ListPages } from "../../../platform/http/pagination.ts";
import type { InstanceSettings } from "../../../platform/db/instance-settings.ts";
import type { RecordAudit } from "../../audit/record.ts";
import type { KeyStore } from "../../api-keys/store.ts";
import type { EmailStore } from "../../emails/store/store.ts";
import type { UsageStore } from "../../plans/store.ts";
import type { CreditStore } from "../credit-store.ts";
import type { DeleteDeps } from "../purge.ts";
import type { SenderIdStore } from "../sender-store.ts";

export interface OperatorWorkspaceDeps
  extends Omit<DeleteDeps, "clock">, Pick<Context, "commit" | "clock" | "random" | "log"> {
  pages: ListPages;
  keys: KeyStore;
  credits: CreditStore;
  senderIds: SenderIdStore;
  usage: UsageStore;
  emails: EmailStore;
  settings: InstanceSettings;
  planNames: string[];
  recordAudit: RecordAudit;
  /** Inside the transaction that lifts a block for its rates: they start again. */
  forgetRates: (workspaceId: number) => void;
  /** After the commit: the workspace's queue is held, or is not. */
  holdChanged: (workspaceId: number, isHeld: boolean) => void;
  /** After the commit: caches of the workspace are dropped, and its rows removed. */
  deleted: (domainIds: number[]) => void;
}

export const TAG = "Operator";
export const READ_ERRORS = [401, 403, 404, 422];
export const CHANGE_ERRORS = [400, 401, 403, 404, 413, 415, 422, 503];
export const DELETE_ERRORS = [401, 403, 404, 422, 503];
