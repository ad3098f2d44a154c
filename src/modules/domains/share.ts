// Links to a domain's records for whoever owns its DNS: they read, need no account, and end after seven days or when withdrawn.

import type { Context } from "../../platform/context.ts";
import { AppError } from "../../platform/errors.ts";
import { getCaller } from "../../platform/http/auth.ts";
import { getArrival } from "../../platform/http/browser-request.ts";
import { notFound } from "../../platform/http/errors.ts";
import { toIsoTime } from "../../platform/http/times.ts";
import { TokenBuckets } from "../../platform/http/token-buckets.ts";
import { linkUsed } from "../accounts/links.ts";
import { createToken, hashToken, isToken } from "../accounts/token.ts";
import type { RecordAudit } from "../audit/record.ts";
import { auditDomain } from "./create.ts";
import type { DomainShare } from "./schema.ts";
import type { ShareRow, ShareStore } from "./share-store.ts";
import type { DomainRow, DomainStore } from "./store.ts";

export const SHARE_HEADER = "Pombo-Share";

const LIFETIME_MS = 7 * 24 * 60 * 60_000;
/** Requests with one link; a page makes a few a minute. */
const PER_MINUTE = 120;
const MINUTE_MS = 60_000;

export interface ShareDeps extends Pick<Context, "commit" | "clock" | "random"> {
  domains: Pick<DomainStore, "byId" | "noteChange">;
  domainShares: ShareStore;
  recordAudit: RecordAudit;
  /** Null: there is no dashboard, whose page the link opens. */
  dashboard: { url: string | null; findPlace: () => { origin: string } } | null;
}

export interface OpenShare {
  domain: DomainRow;
  expiresAt: number;
  /** Whether the link still works. */
  isOpen: () => boolean;
}

export type Shares = ReturnType<typeof createShares>;

export function createShares(deps: ShareDeps) {
  const { domains, domainShares, clock, commit } = deps;
  const buckets = new TokenBuckets<number>({ name: "shares", rate: PER_MINUTE, perMs: MINUTE_MS, burst: PER_MINUTE });
  const isOpen = (share: ShareRow | undefined) => share !== undefined && share.expiresAt > clock.now();

  return {
    /** The link that was shared before ends. */
    async create(request: Request, domain: DomainRow): Promise<typeof DomainShare.static> {
      const origin = findOrigin(request, deps);
      const { token, hash } = createToken(deps.random);
      const expiresAt = clock.now() + LIFETIME_MS;
      await commit(() => {
        if (domains.byId(domain.id) === undefined) throw notFound("This workspace has no domain with this id");
        domainShares.put({ domainId: domain.id, hash, expiresAt });
        domains.noteChange(domain.workspaceId);
        auditDomain(domain, { request, action: "domain.shared" }, deps);
      });
      return { url: `${origin}/dashboard/dns#${token}`, expiresAt: toIsoTime(expiresAt) };
    },

    async end(request: Request, domain: DomainRow): Promise<void> {
      await commit(() => {
        if (domainShares.ofDomain(domain.id) === undefined) return;
        domainShares.delete(domain.id);
        domains.noteChange(domain.workspaceId);
        auditDomain(domain, { request, action: "domain.share_ended" }, deps);
      });
    },

    /** Null: there is no link that works. */
    endsAt(domainId: number): number | null {
      const share = domainShares.ofDomain(domainId);
      return share !== undefined && isOpen(share) ? share.expiresAt : null;
    },

    /** What the link in the request's header opens. Throws LINK_USED, and RATE_LIMITED for one that asks too often. */
    open(request: Request): OpenShare {
      const token = request.headers.get(SHARE_HEADER) ?? "";
      const hash = isToken(token) ? hashToken(token) : "";
      const share = domainShares.byHash(hash);
      const domain = share === undefined ? undefined : domains.byId(share.domainId);
      if (share === undefined || domain === undefined || !isOpen(share)) throw linkUsed();
      const waitMs = buckets.take(share.domainId, clock.now());
      if (waitMs > 0)
        throw new AppError("RATE_LIMITED", "Too many requests with this link", {
          retryAfterS: buckets.wholeSeconds(waitMs),
        });
      return { domain, expiresAt: share.expiresAt, isOpen: () => isOpen(domainShares.byHash(hash)) };
    },
  };
}

function findOrigin(request: Request, { dashboard }: ShareDeps): string {
  if (dashboard === null)
    throw notFound("The dashboard is turned off here, and with it the page of such links", "Hand on the zone file.");
  if (dashboard.url !== null) return dashboard.url;
  return getCaller(request).kind === "member" ? getArrival(request).origin : dashboard.findPlace().origin;
}
