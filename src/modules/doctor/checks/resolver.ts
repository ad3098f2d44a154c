// The DNS servers that pombo asks: whether they answer, tell the truth, take TCP, and validate.

import type { ServerAnswer } from "../../../protocols/dns/probe.ts";
import type { Server } from "../../../protocols/dns/exchange.ts";
import { bad, type Finding, ok, unknown } from "../finding.ts";
import type { World } from "../world.ts";

const OWN_RESOLVER = 'apt install unbound\nthen in the configuration: [dns] servers = ["127.0.0.1"]\nand restart pombo';
/** From here on each delivery waits for it. */
const SLOW_MS = 500;

export async function checkResolver(world: World): Promise<Finding[]> {
  const found = world.servers().map((server, at) => ({ server, answer: world.firstAnswers[at] }));
  const [honest, tcp] = await Promise.all([checkHonesty(world), checkTcp(world)]);
  const isOver = world.signal.aborted && found.every(({ answer }) => answer?.kind !== "answered");
  const answers = isOver
    ? unknown("resolver_answers", "The time of this run was over before the DNS servers answered.")
    : checkAnswers(found);
  return [answers, honest, tcp, checkValidation(world), ...(await checkLongText(world))];
}

/** Domains whose key is asked for, until one has it published. */
const MAX_LONG = 3;
/** RFC 1035 §3.3: of one string in a TXT record. */
const STRING_OCTETS = 255;

/** A key of 2,048 bits does not fit into one string: resolvers in small routers pass on only the first. */
async function checkLongText({ dns, domains }: World): Promise<Finding[]> {
  const id = "resolver_txt";
  const long = domains.flatMap(({ name: subject, dkim }) => {
    const key = dkim.find(({ value }) => value.length > STRING_OCTETS);
    return key === undefined ? [] : { subject, ...key };
  });
  for (const { subject, name, value } of long.slice(0, MAX_LONG)) {
    const about = { subject };
    const lookup = await dns.txt(name);
    if (lookup.kind === "failed")
      return [unknown(id, `A TXT record in several strings could not be asked for: ${lookup.reason}.`, about)];
    if (lookup.kind !== "found") continue;
    if (lookup.records.includes(value)) return [ok(id, "TXT records in several strings arrive whole.", about)];
    const isCut = lookup.records.some((record) => record.length >= STRING_OCTETS / 2 && value.startsWith(record));
    if (!isCut) continue;
    return [
      bad(id, "warning", {
        ...about,
        seen: `Of the TXT record of ${name} only the beginning arrives: either it was published so, or the DNS servers cut it.`,
        step: `dig +short TXT ${name} @9.9.9.9 shows what others see. If that is whole, take a resolver of your own:\n${OWN_RESOLVER}\nElse publish the record anew, in strings of at most 255 characters: pombo doctor --only dkim shows it.`,
      }),
    ];
  }
  return [];
}

function checkAnswers(found: { server: Server; answer: ServerAnswer | undefined }[]): Finding {
  const id = "resolver_answers";
  const named = found.map(({ server: { label } }) => label).join(", ");
  const failed = found.flatMap(({ server, answer }) => {
    if (answer === undefined) return [];
    if (answer.kind === "silent") return [`${server.label} ${answer.reason}`];
    const isRefusal = answer.rcode === "REFUSED" || answer.rcode === "SERVFAIL";
    return isRefusal ? [`${server.label} answers ${answer.rcode}`] : [];
  });
  if (failed.length === found.length)
    return bad(id, "problem", {
      seen: `No DNS server answers: ${failed.join("; ")}. Nothing can be delivered without.`,
      step: `Take a resolver of your own:\n${OWN_RESOLVER}\nA firewall must let UDP and TCP to port 53 out, and their answers in.`,
    });
  if (failed.length > 0)
    return bad(id, "warning", {
      seen: `Of ${found.length} DNS servers not all answer: ${failed.join("; ")}.`,
      step: "Take those that do not answer out of [dns] servers, or of /etc/resolv.conf where the configuration names none.",
    });
  const slowest = Math.max(...found.map(({ answer }) => (answer?.kind === "answered" ? answer.tookMs : 0)));
  if (slowest > SLOW_MS)
    return bad(id, "warning", {
      seen: `The DNS servers answer slowly: ${Math.round(slowest)} ms for a name that each resolver knows.`,
      step: `Take a resolver of your own, on this machine:\n${OWN_RESOLVER}`,
    });
  return ok(id, `${named} ${found.length === 1 ? "answers" : "answer"} within ${Math.round(slowest)} ms.`);
}

/** A name that nobody has: who finds something there sends mail to the wrong place. */
async function checkHonesty({ dns, random }: World): Promise<Finding> {
  const id = "resolver_honest";
  const name = `pombo-doctor-${Buffer.from(random.bytes(8)).toString("hex")}.net`;
  const lookup = await dns.a(name);
  switch (lookup.kind) {
    case "failed":
      return unknown(id, `A name that does not exist could not be asked for: ${lookup.reason}.`);
    case "no_name":
      return ok(id, "A name that does not exist is answered with NXDOMAIN.");
    case "no_data":
    case "found": {
      const what = lookup.kind === "found" ? `the address ${lookup.records.join(", ")}` : "that it exists";
      return bad(id, "problem", {
        seen: `For ${name}, which nobody has, DNS answers ${what}: it is not the truth, and mail to mistyped domains waits instead of bouncing.`,
        step: `Take a resolver of your own:\n${OWN_RESOLVER}`,
      });
    }
  }
}

async function checkTcp(world: World): Promise<Finding> {
  const id = "resolver_tcp";
  const servers = world.servers().filter((_, at) => world.firstAnswers[at]?.kind === "answered");
  if (servers.length === 0) return unknown(id, "No DNS server answers, so that none could be asked by TCP.");
  const answers = await Promise.all(
    servers.map(async (server) => ({
      server,
      answer: await world.ask(server, { name: ".", type: "NS", transport: "tcp" }),
    })),
  );
  const silent = answers.flatMap(({ server, answer }) =>
    answer.kind === "silent" ? [`${server.label} ${answer.reason}`] : [],
  );
  if (silent.length === 0) return ok(id, "Answers too long for a datagram come by TCP.");
  return bad(id, silent.length === servers.length ? "problem" : "warning", {
    seen: `By TCP, which answers of more than 1,232 bytes need, ${silent.join("; ")}.`,
    step: "Let TCP to port 53 out in the firewall of this machine and of its hoster, as UDP.",
  });
}

function checkValidation({ firstAnswers }: World): Finding {
  const id = "resolver_dnssec";
  const answered = firstAnswers.filter((answer) => answer.kind === "answered");
  if (answered.length === 0) return unknown(id, "No DNS server answers, so that none says whether it validates.");
  if (answered.every(({ isAuthenticated }) => isAuthenticated))
    return ok(id, "The DNS servers validate signatures (DNSSEC).");
  return bad(id, "warning", {
    seen: "Not all DNS servers validate signatures (DNSSEC): a forged answer would be believed. Mail works without.",
    step: `Take a resolver of your own that validates:\n${OWN_RESOLVER}`,
  });
}
