import { Elysia } from "elysia";
import { operatorCaller } from "../../platform/http/auth.ts";
import { notFound } from "../../platform/http/errors.ts";
import { answers, describe } from "../../platform/http/openapi.ts";
import { toIsoTime } from "../../platform/http/times.ts";
import type { Log } from "../../platform/log.ts";
import { readNames } from "../../protocols/x509/chain.ts";
import { advise } from "./advice.ts";
import type { CertificateView } from "./issues.ts";
import { TlsStatus } from "./schema.ts";

const TAG = "Operator";

/** `view`: of this moment. */
export function tlsRoutes(view: () => CertificateView, log: Log) {
  return new Elysia({ name: "operator tls", prefix: "/api/v1/operator/tls" })
    .get(
      "",
      ({ request }) => {
        operatorCaller(request);
        return { data: show(view()) };
      },
      {
        detail: describe({
          id: "getTls",
          tag: TAG,
          summary: "Get the state of the TLS certificate",
          description: "Until when it is valid, when the next one is ordered, and why the last attempt failed.",
          responses: answers(200, TlsStatus, [401, 403]),
        }),
      },
    )
    .post(
      "/renew",
      ({ request, set }) => {
        operatorCaller(request);
        const { renewal } = view();
        if (renewal === null)
          throw notFound(
            "No authority is asked for certificates",
            'Set [tls] acme = "letsencrypt" in the configuration and restart pombo.',
          );
        renewal.renewNow();
        log.event("tls.renew_requested");
        set.status = 202;
        return { data: show(view()) };
      },
      {
        detail: describe({
          id: "renewTls",
          tag: TAG,
          summary: "Order a new TLS certificate now",
          description:
            "The answer comes at once. The certificate is served once the authority has issued it: `isRenewing` is then false.",
          responses: answers(202, TlsStatus, [401, 403, 404, 429]),
        }),
      },
    );
}

function show({ certificate, isSelfMade, isPublic, renewal, tls }: CertificateView): typeof TlsStatus.static {
  const failure = renewal?.failure ?? null;
  return {
    source: renewal !== null ? "authority" : tls.certificateFile === null ? "none" : "files",
    directory: tls.acme,
    names: [...tls.names],
    certificate:
      certificate === null
        ? null
        : {
            names: readNames(certificate),
            issuer: describeIssuer(certificate.issuer),
            validFrom: toIsoTime(Date.parse(certificate.validFrom)),
            validUntil: toIsoTime(Date.parse(certificate.validTo)),
            isSelfMade,
            isPublic,
          },
    isRenewing: renewal?.isRunning ?? false,
    renewsAt: renewal === null ? null : toIsoTime(renewal.nextAt),
    failure:
      failure === null || renewal === null
        ? null
        : {
            ...failure,
            at: toIsoTime(failure.at),
            advice: advise(failure.type, failure.name),
            attempts: renewal.attempts,
          },
  };
}

/** "C=US\nO=Let's Encrypt\nCN=E7" → "Let's Encrypt E7" */
function describeIssuer(issuer: string): string {
  const parts = new Map(issuer.split("\n").map((line) => [line.split("=")[0], line.slice(line.indexOf("=") + 1)]));
  return [parts.get("O"), parts.get("CN")].filter((part) => part !== undefined).join(" ");
}
