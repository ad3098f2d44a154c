// A running instance, and what it is started with.

import type { AnyElysia } from "elysia";
import type { HeldTerm } from "../backup/standby/takeover.ts";
import type { Replicator } from "../backup/replication.ts";
import type { Receive } from "../modules/inbound-mail/inbound-message.ts";
import type { DiskGuard } from "../platform/db/disk-guard.ts";
import type { Committer } from "../platform/db/group-commit.ts";
import type { Db } from "../platform/db/open.ts";
import type { OnRefused } from "../platform/http/errors.ts";
import type { DeliveryPause } from "../platform/queue/delivery-pause.ts";
import type { InstanceOptions } from "./bootstrap.ts";
import type { CoreOptions } from "./core.ts";
import type { ModuleOptions, Modules } from "./modules.ts";
import type { Stores } from "./stores.ts";

export interface AppOptions extends CoreOptions, InstanceOptions, ModuleOptions {
  /** The lease that this machine has; absent: it is the only one. */
  lease?: HeldTerm;
  /** Unix ms: since then it works without the lease of the configuration; absent: it does not. */
  aloneSince?: number;
  /** Each COMMIT syncs the log while the event loop waits: for tests that count its turns. */
  isSyncInline?: boolean;
  /** Routes beside the API: the sandbox's. */
  beside?: AnyElysia;
  /** Sees each request to the API that is answered with an error: the sandbox shows them. */
  refused?: OnRefused;
  /** A domain that can be sent from, for the examples in the API docs; default: example.com. */
  exampleDomain?: string;
  /** The path of the keys that requests are tried with in the API docs: the sandbox's. Default: none, readers type theirs. */
  docsKeys?: string;
  /** What a person can do when the API's port is taken; default: change the configuration. */
  portHint?: string;
}

export interface App extends Pick<Modules, "webhooks" | "domains" | "accounts" | "members" | "alerts"> {
  /** Base of the API: http://127.0.0.1:8080 */
  url: string;
  /** The same with TLS: https://0.0.0.0:443 */
  tlsUrls: string[];
  /** http://127.0.0.1:9464/metrics; null: they are turned off. */
  metricsUrl: string | null;
  /** Where bounces and complaints come in: 127.0.0.1:2525; null: nothing comes in. */
  inbound: string | null;
  /** Where programs hand in mail: with STARTTLS, then with TLS from the first byte. */
  submission: string[];
  db: Db;
  committer: Committer;
  worker: Modules["emails"]["worker"];
  guard: DiskGuard;
  /** Takes an inbound message. */
  receive: Receive;
  smsStores: Stores["sms"];
  sms: Modules["sms"];
  /** Null: it waits for room on the disk. */
  replicator: Replicator | null;
  /** Whether delivery waits for the operator. */
  pause: DeliveryPause;
  sendSystemMail: Modules["emails"]["sendSystemMail"];
  /** Ends everything in order; sessions get up to `graceMs` to end, by default 22 s and the links to SMSCs 41. */
  stop(graceMs?: number): Promise<void>;
}
