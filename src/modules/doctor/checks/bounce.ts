// What comes back: whether the host of the return paths leads here, and the port takes mail for it.

import { isLoopback } from "../../../platform/ip/address.ts";
import { bad, type Finding, ok, quote, unknown } from "../finding.ts";
import type { SmtpTalk } from "../smtp-probe.ts";
import type { World } from "../world.ts";

export async function checkBounce(world: World): Promise<Finding[]> {
  return (await Promise.all([checkBounceHost(world), checkPort(world)])).flat();
}

async function checkBounceHost(world: World): Promise<Finding[]> {
  const id = "bounce_host";
  const { dns, config } = world;
  const { bounceHost } = config.email;
  if (config.inbound.listen === null)
    return [
      bad(id, "warning", {
        seen: "No bounces and complaints are taken: [inbound] listen is empty. Addresses that do not exist are mailed again and again.",
        step: 'In the configuration:\n[inbound]\nlisten = "0.0.0.0:25"',
      }),
    ];
  const mx = await dns.mx(bounceHost);
  if (mx.kind === "failed")
    return [unknown(id, `The MX of ${bounceHost} could not be looked up: ${quote(mx.reason)}.`)];
  const { own: ours, hidden } = await world.sending();
  const own = [...ours.flatMap(({ address, local }) => [address, local]), ...hidden, ...world.ownAddresses()];
  const [first] = ours;
  const record =
    mx.kind === "found"
      ? `${bounceHost}. 3600 IN MX 10 ${config.hostname}.`
      : `${bounceHost}. 3600 IN A ${first?.address ?? "(the address of this server)"}`;
  const step = `Publish at the DNS provider of ${bounceHost}:\n${record}`;
  // RFC 5321 §5.1: without an MX it is the name itself.
  const hosts = mx.kind === "found" ? mx.records.map(({ exchange }) => exchange) : [bounceHost];
  const found = await Promise.all(hosts.slice(0, MAX_HOSTS).map((host) => findAddresses(host, world)));
  if (found.some((each) => each === null)) return [unknown(id, `The address of ${bounceHost} could not be looked up.`)];
  const reached = found.flatMap((each) => each ?? []);
  if (reached.length === 0)
    return [bad(id, "problem", { seen: `${bounceHost}, where bounces go to, has no address: they are lost.`, step })];
  const isOwn = (address: string) => own.includes(address) || (isLoopback(address) && world.isPublic(address));
  if (reached.every(isOwn)) return [ok(id, `Bounces to ${bounceHost} come here.`)];
  if (own.length === 0)
    return [unknown(id, `${bounceHost} leads to ${reached.join(", ")}; this machine's own address is not known.`)];
  return [
    bad(id, reached.some(isOwn) ? "warning" : "problem", {
      seen: `${bounceHost}, where bounces go to, leads to ${reached.filter((each) => !isOwn(each)).join(", ")}, which is no address of this machine.`,
      step: `${step}\nBehind NAT, and where another server passes bounces on to here, it is right as it is.`,
    }),
  ];
}

const MAX_HOSTS = 4;

/** Null: DNS failed. */
async function findAddresses(host: string, { dns }: World): Promise<string[] | null> {
  const lookups = await Promise.all([dns.a(host), dns.aaaa(host)]);
  const found = lookups.flatMap((lookup) => (lookup.kind === "found" ? lookup.records : []));
  return found.length === 0 && lookups.some(({ kind }) => kind === "failed") ? null : found;
}

async function checkPort(world: World): Promise<Finding[]> {
  const mailboxes = await checkMailboxes(world);
  return [...mailboxes, ...(await checkLetter(world, mailboxes))];
}

/** RFC 2142, RFC 5321 §4.5.1: the mailboxes that each mail host has. The talk ends before any mail. */
async function checkMailboxes(world: World): Promise<Finding[]> {
  const id = "bounce_port";
  const { instance, config } = world;
  const address = instance?.inbound ?? null;
  if (address === null) return [];
  const { host, port } = splitAddress(address);
  const { bounceHost } = config.email;
  const mailboxes = [`postmaster@${config.hostname}`, `abuse@${bounceHost}`];
  const commands = [`EHLO ${config.hostname}`, "MAIL FROM:<>", ...mailboxes.map((mailbox) => `RCPT TO:<${mailbox}>`)];
  const talk = await world.talk({ address: host, port }, commands);
  if (talk.kind === "given_up") return [unknown(id, "The time was over before the port for bounces answered.")];
  if (talk.kind === "replied" && talk.replies.length > commands.length && talk.replies.every(({ code }) => code < 400))
    return [ok(id, `The port for bounces takes mail to ${mailboxes.join(" and ")}.`)];
  return [
    bad(id, "problem", {
      seen: `The port for bounces takes no mail:${describeRefusal(talk, commands)}.`,
      step: `Look at the log: journalctl -u pombo -n 50. Another program at this port (ss -ltnp 'sport = :${port}') must be stopped; a full disk must be emptied.`,
    }),
  ];
}

function describeRefusal(talk: SmtpTalk, commands: readonly string[]): string {
  if (talk.kind !== "replied") return ` it ${talk.reason}`;
  const last = talk.replies.at(-1);
  if (last === undefined) return "";
  const said = ["", ...commands][talk.replies.length - 1] || "the connection";
  return ` to “${said.includes("\r\n") ? "the message" : said}” it says ${last.code} ${quote(last.lines.join(" "), 120)}`;
}

/**
 * A whole message to the address for complaints. An automatic answer there is read, and dropped: it is kept nowhere, and
 * is about no email.
 */
async function checkLetter(world: World, [mailboxes]: readonly Finding[]): Promise<Finding[]> {
  const id = "bounce_letter";
  const { instance, config } = world;
  const address = instance?.inbound ?? null;
  if (address === null || mailboxes === undefined) return [];
  if (mailboxes.level !== "ok") return [unknown(id, "No message was sent to the port for bounces: see bounce_port.")];
  const { host, port } = splitAddress(address);
  const to = `fbl@${config.email.bounceHost}`;
  const letter = [
    `From: postmaster@${config.hostname}`,
    `To: ${to}`,
    "Subject: Auto: pombo doctor",
    `Date: ${new Date(world.clock.now()).toUTCString().replace("GMT", "+0000")}`,
    "Auto-Submitted: auto-replied",
    "",
    "The doctor looks whether a message is taken here.",
    ".",
  ].join("\r\n");
  const commands = [`EHLO ${config.hostname}`, "MAIL FROM:<>", `RCPT TO:<${to}>`, "DATA", letter];
  const talk = await world.talk({ address: host, port }, commands);
  if (talk.kind === "given_up") return [unknown(id, "The time was over before the message for bounces was taken.")];
  if (talk.kind === "replied" && talk.replies.length > commands.length && talk.replies.every(({ code }) => code < 400))
    return [ok(id, `A whole message to ${to} is taken and read.`)];
  return [
    bad(id, "problem", {
      seen: `A whole message to ${to} is not taken:${describeRefusal(talk, commands)}.`,
      step: "Look at the log: journalctl -u pombo -n 50. pombo doctor --only health,disk shows whether the disk is full or the database cannot be written; until then bounces come again and wait at their senders.",
    }),
  ];
}

function splitAddress(text: string): { host: string; port: number } {
  const [, host = "", port] = /^\[?(.*?)\]?:(\d+)$/.exec(text) ?? [];
  return { host: host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host, port: Number(port) };
}
