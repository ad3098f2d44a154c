// `pombo tls` and `pombo tls renew`: the certificate of the ports with TLS.

import type { TlsStatus } from "../../modules/certificates/schema.ts";
import { systemClock } from "../../platform/clock.ts";
import { type OperatorCommand, record, type Work } from "../client/operator-command.ts";
import { paint } from "../framework/screen.ts";
import { labelledLines, plain, timeText } from "../framework/text.ts";

type Tls = typeof TlsStatus.static;

const PATH = "/operator/tls";
const LOOK_EVERY_MS = 500;
/** An order takes seconds; one that a slow authority takes longer over goes on without being watched. */
const WATCH_MS = 120_000;

export const TLS_COMMANDS: OperatorCommand[] = [
  {
    name: "tls",
    about:
      "Show the TLS certificate: names, issuer, until when, next renewal, last failure. Exit code 0: it is valid and renewed, 1: see what failed.",
    needsInstance: true,
    run: async ({ api }) => show(await api.call<Tls>("GET", PATH)),
  },
  {
    name: "tls renew",
    about: "Order a new TLS certificate now, and say what came of it.",
    needsInstance: true,
    async run(work) {
      await work.api.call<Tls>("POST", `${PATH}/renew`);
      return show(await watch(work));
    },
  },
];

async function watch({ api }: Work): Promise<Tls> {
  for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
    const found = await api.call<Tls>("GET", PATH);
    if (!found.isRenewing || waitedMs >= WATCH_MS) return found;
    await new Promise<void>((resolve) => void systemClock.after(LOOK_EVERY_MS, resolve));
  }
}

function show(found: Tls) {
  const isFailed = found.failure !== null;
  return { ...record(found, format(found)), exitCode: isFailed ? 1 : 0 } as const;
}

function format({ source, directory, names, certificate, isRenewing, renewsAt, failure }: Tls): string {
  const lines: [string, string][] = [["Names", (certificate?.names ?? names).map(plain).join(", ")]];
  if (certificate !== null) {
    lines.push(["Issuer", certificate.isSelfMade ? "self-made: clients refuse it" : plain(certificate.issuer)]);
    lines.push(["Valid until", timeText(certificate.validUntil)]);
  }
  if (source === "none") lines.push(["Renewal", 'none: set [tls] acme = "letsencrypt" in the configuration']);
  if (source === "files") lines.push(["Renewal", "none: its files are read again when they change"]);
  if (renewsAt !== null) lines.push(["Renewal", isRenewing ? "one is being ordered now" : timeText(renewsAt)]);
  if (directory !== null) lines.push(["Authority", plain(directory)]);
  const missing = names.filter((name) => certificate !== null && !certificate.names.includes(name));
  if (missing.length > 0 && source === "authority") lines.push(["Not in it yet", missing.map(plain).join(", ")]);
  return [labelledLines(lines), ...(failure === null ? [] : ["", formatFailure(failure)])].join("\n");
}

function formatFailure({ at, type, detail, name, advice, findings, attempts }: NonNullable<Tls["failure"]>): string {
  const about = name === null ? "" : ` for ${plain(name)}`;
  const often = attempts > 1 ? ` (${attempts} times in a row)` : "";
  return [
    `${paint("!", "red")} Failed at ${timeText(at)}${about}${often}: ${plain(type)}: ${plain(detail)}`,
    `  ${advice}`,
    ...findings.map((finding) => `  pombo saw: ${plain(finding)}`),
  ].join("\n");
}
