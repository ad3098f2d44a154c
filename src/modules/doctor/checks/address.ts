// The addresses that mail leaves from, and the way out and in.

import { isIPv6 } from "node:net";
import { checkEgresses } from "./egress.ts";
import { bad, type Finding, ok, quote, unknown } from "../finding.ts";
import { leavesFromHere } from "../sending.ts";
import type { Probed, World } from "../world.ts";

export async function checkAddress(world: World): Promise<Finding[]> {
  const found = await Promise.all([
    checkOwnAddress(world),
    checkPort25Out(world),
    checkEgresses(world),
    checkPortsIn(world),
  ]);
  return found.flat();
}

async function checkOwnAddress(world: World): Promise<Finding[]> {
  const id = "address";
  const { addresses, hidden, isRelayed: isThroughRelay } = await world.sending();
  if (isThroughRelay) return [];
  const found = addresses.map(({ address, local, egress }) =>
    egress !== null
      ? ok(id, `Mail leaves from ${address} by the egress ${egress}.`, { subject: address })
      : address === local
        ? ok(id, `Mail leaves from ${address}.`, { subject: address })
        : ok(id, `Mail leaves from ${local}, which the world sees as ${address} (NAT).`, { subject: address }),
  );
  const behind = hidden.map((local) =>
    unknown(id, `Mail leaves from ${local}, a private address, and no mail server said what the world sees (NAT).`, {
      subject: local,
      step: "curl -4 https://ifconfig.co shows the address; its PTR, SPF and blocklists could not be looked at.",
    }),
  );
  if (found.length + behind.length > 0) return [...found, ...behind];
  return [
    bad(id, "problem", {
      seen: "This machine has no address that reaches the internet.",
      step: "ip route shows what is missing; without a default route nothing can be delivered.",
    }),
  ];
}

async function checkPort25Out(world: World): Promise<Finding[]> {
  const id = "port25_out";
  const { config } = world;
  if (!leavesFromHere(world) || config.doctor.probes.length === 0) return [];
  const probed = await world.probed();
  const answered = probed.filter((each) => each.kind === "talked" && each.talk.replies[0]?.code === 220);
  const told = probed.map(describe).join("; ");
  if (answered.length > 0 && answered.length === probed.length)
    return [ok(id, `Mail servers answer on port ${config.email.destinationPort}: ${told}.`)];
  if (answered.length > 0)
    return [
      bad(id, "warning", {
        seen: `Port ${config.email.destinationPort} is open, and not all mail servers take us: ${told}.`,
        step: "What they say is in their words above; pombo doctor --only reputation looks whether this address is on a blocklist.",
      }),
    ];
  const talks = probed.filter((each) => each.kind === "talked");
  if (talks.some(({ talk }) => talk.kind === "given_up")) return [unknown(id, `The time was over: ${told}.`)];
  if (talks.length === 0) return [unknown(id, `No mail server could be found in DNS: ${told}.`)];
  const isBlocked = talks.every(({ talk }) => talk.kind === "unreached");
  if (!isBlocked)
    return [
      bad(id, "problem", {
        seen: `No mail server takes us: ${told}.`,
        step: "What they say is in their words above. A greeting of 554 or 521 means that this address is refused: pombo doctor --only reputation says where it is listed.",
      }),
    ];
  return [
    bad(id, "problem", {
      seen: `Port ${config.email.destinationPort} is closed on the way out: ${told}.`,
      step: openPortTicket(await describeSelf(world)),
    }),
  ];
}

function describe(probed: Probed): string {
  if (probed.kind === "not_found") return `${probed.domain}: ${quote(probed.reason)}`;
  const { host, talk } = probed;
  const [greeting] = talk.replies;
  if (greeting !== undefined) return `${host} ${greeting.code} ${quote(greeting.lines.join(" "), 80)}`;
  return `${host} ${talk.kind !== "replied" ? talk.reason : "said nothing"}`;
}

async function describeSelf(world: World): Promise<string> {
  const { addresses, hidden } = await world.sending();
  return [...addresses.map(({ address }) => address), ...hidden].join(" and ") || "my server";
}

function openPortTicket(self: string): string {
  return [
    "Ask your hoster to open it. The text of the ticket:",
    "",
    `  Please open outgoing TCP port 25 for ${self}. It sends transactional email`,
    "  (receipts, sign-in codes) for our own domains, with SPF, DKIM and DMARC, and handles",
    "  bounces and complaints itself.",
    "",
    "If they do not, send through a relay that listens on another port. In the configuration:",
    "",
    "  [email]",
    '  transport = "relay"',
    "",
    "  [[relay]]",
    '  host = "smtp.example.net"',
    '  username = "…"',
    '  password_file = "/etc/pombo/relay-password"',
  ].join("\n");
}

interface OwnPort {
  address: string;
  port: number;
  what: string;
  table: string;
}

/** As this machine sees them: a firewall before it is not seen from here. */
async function checkPortsIn(world: World): Promise<Finding[]> {
  const ports = listOwnPorts(world);
  return Promise.all(ports.map((each) => checkOwnPort(each, world)));
}

function listOwnPorts({ config, instance }: World): OwnPort[] {
  const mail = config.inbound.listen;
  const mailPort = Number(instance?.inbound?.split(":").at(-1) ?? mail?.port ?? 0);
  return [
    ...(mail === null || mailPort === 0
      ? []
      : [{ address: mail.address, port: mailPort, what: "bounces and complaints", table: "[inbound] listen" }]),
    ...listPorts(config.tls.listen, instance?.tls, { what: "the API with TLS", table: "[tls] listen" }),
    ...listPorts([...config.submission.listen, ...config.submission.listenTls], instance?.submission, {
      what: "programs that hand in mail",
      table: "[submission] listen and listen_tls",
    }),
  ];
}

/** Those that are open; before the start, and where the instance could not open one, those of the configuration. */
function listPorts(
  configured: readonly { address: string; port: number }[],
  open: readonly string[] | undefined,
  about: Pick<OwnPort, "what" | "table">,
): OwnPort[] {
  const opened = (open ?? []).map((place) => Number(place.split(":").at(-1)));
  return configured.flatMap(({ address, port }, at) => {
    // A port of 0 is the system's choice.
    const own = port > 0 ? port : (opened[at] ?? 0);
    return own > 0 ? [{ address, port: own, ...about }] : [];
  });
}

async function checkOwnPort({ address, port, what, table }: OwnPort, world: World): Promise<Finding> {
  const id = "ports_in";
  const subject = String(port);
  const target = isIPv6(address) ? (address === "::" ? "::1" : address) : address === "0.0.0.0" ? "127.0.0.1" : address;
  const talk = await world.talk({ address: target, port }, []);
  if (talk.kind === "given_up")
    return unknown(id, `Whether port ${port} answers is not known: the time was over.`, { subject });
  const isOpen = talk.kind !== "unreached";
  if (world.instance === null) {
    if (!isOpen) return ok(id, `Port ${port} is free for pombo (${what}).`, { subject });
    return bad(id, "problem", {
      subject,
      seen: `Another program listens on port ${port}, which pombo needs for ${what}${greetingOf(talk.replies[0]?.lines)}.`,
      step: `ss -ltnp 'sport = :${port}' names it. Stop it for good, for example:\nsystemctl disable --now postfix\nor give pombo another port (${table}).`,
    });
  }
  if (isOpen) return ok(id, `Port ${port} is open on this machine (${what}).`, { subject });
  return bad(id, "problem", {
    subject,
    seen: `Port ${port} of this machine does not answer (${what}): ${target} ${talk.reason}.`,
    step: `Look at the log (journalctl -u pombo -n 50) and at the firewall of this machine: nft list ruleset. ${table} names the port.`,
  });
}

function greetingOf(lines: readonly string[] | undefined): string {
  return lines === undefined ? "" : ` (it says “${quote(lines.join(" "), 80)}”)`;
}
