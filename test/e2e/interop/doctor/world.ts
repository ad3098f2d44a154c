// The world that the doctor is judged in: names, lists, clocks and mail servers of others, and what was published at first.

import { makeCertificate } from "../../../support/peers/authority.ts";
import { startBind, type Bind } from "../../../support/peers/bind.ts";
import { startChrony } from "../../../support/peers/chrony.ts";
import { startCuttingResolver } from "../../../support/peers/cutting-resolver.ts";
import { startExim } from "../../../support/peers/exim.ts";
import { startPostfix, type Postfix } from "../../../support/peers/postfix.ts";
import { type Cleanup, waitUntil } from "../../../support/peers/process.ts";
import { startRbldnsd, type List, type Rbldnsd } from "../../../support/peers/rbldnsd.ts";
import { startUnbound } from "../../../support/peers/unbound.ts";
import type { Order } from "./kit.ts";
import { buildNetwork, type Network, PLACES, SELF } from "./network.ts";

export const HOST = "mail.example.net";
export const BOUNCE_HOST = "bounces.example.net";
export const SENDER_DOMAIN = "example.org";
export const REVERSE = "7.113.0.203.in-addr.arpa";
/** A domain whose mail is taken, and one that many people have. */
export const MX_DOMAIN = "receiver.example.com";
export const GMAIL = "gmail.com";
const GMAIL_HOST = "gmail-smtp-in.l.google.com";
/** Whose mail server tells its clients their address. */
export const EXIM_DOMAIN = "telling.example.com";
const EXIM = { hostname: `mx.${EXIM_DOMAIN}`, address: PLACES.tellingMx };
export const REGISTRY_HOST = "rdap.example.com";
/** Of their mailboxes a few answer as they are named: spam1 refuses, slow1 defers. */
export const WORDED = 12;
export const SPAMHAUS_KEY = "0123456789abcdefghijklmnop";
/** Lists that serve nothing but one kind of trouble. */
export const LISTS = {
  good: "zen.spamhaus.org",
  world: "world.example.com",
  dead: "dead.example.com",
  refusing: "refusing.example.com",
};
export const NAME_LIST = "dbl.spamhaus.org";

/** Resolvers of this machine, each with a fault of its own. */
export const RESOLVERS = {
  good: "127.0.0.1",
  silent: "127.0.0.2",
  liar: "127.0.0.3",
  blind: "127.0.0.4",
  noTcp: "127.0.0.5",
  cutting: "127.0.0.6",
};

export type Records = Record<string, readonly string[]>;

/** By name and type. */
export const FIRST_RECORDS: Records = {
  [`${HOST} A`]: [SELF],
  [`${HOST} TXT`]: [`"v=spf1 a -all"`],
  [`${BOUNCE_HOST} MX`]: [`10 ${HOST}.`],
  [`${BOUNCE_HOST} TXT`]: [`"v=spf1 ip4:${SELF} -all"`],
  [`${REVERSE} PTR`]: [`${HOST}.`],
  [`${SENDER_DOMAIN} MX`]: [`10 mx.${MX_DOMAIN}.`],
  // Where the step of from_domain leads.
  [`mx.${SENDER_DOMAIN} A`]: [SELF],
};

const EMPTY = { kind: "ip4trie", code: "127.0.0.2", entries: ["127.0.0.2/32"] } as const;
export const CLEAN_LIST: List = { ...EMPTY, entries: [...EMPTY.entries] };
export const LISTING: List = { ...EMPTY, entries: [...EMPTY.entries, `${SELF}/32`] };
export const REFUSING_LIST: List = { kind: "ip4trie", code: "127.255.255.254", entries: ["0.0.0.0/0"] };
export const CLEAN_NAMES: List = { kind: "dnset", code: "127.0.1.2", entries: ["dbltest.com", "test"] };

export interface Servers {
  network: Network;
  bind: Bind;
  lists: Rbldnsd;
  mx: Postfix;
}

export async function startServers(
  folder: string,
  { chrony, exim }: Pick<Order, "chrony" | "exim">,
  cleanup: Cleanup,
): Promise<Servers> {
  const network = await buildNetwork(folder, cleanup);
  const prefix = network.world;
  const bind = await startBind({
    folder,
    address: PLACES.names,
    prefix,
    zones: ["example.net", "example.org", "example.info", "google.com", "113.0.203.in-addr.arpa"],
    delegations: {
      [LISTS.good]: PLACES.lists,
      [LISTS.world]: PLACES.lists,
      [LISTS.refusing]: PLACES.lists,
      [LISTS.dead]: PLACES.nobody,
      [NAME_LIST]: PLACES.lists,
      "zen.dq.spamhaus.net": PLACES.lists,
    },
    rootRecords: [
      `${MX_DOMAIN}. 0 IN MX 10 mx.${MX_DOMAIN}.`,
      `mx.${MX_DOMAIN}. 0 IN A ${PLACES.mx}`,
      "closed.example.com. 0 IN MX 10 mx.closed.example.com.",
      `mx.closed.example.com. 0 IN A ${PLACES.closedMx}`,
      "refusing-mx.example.com. 0 IN MX 10 mx.refusing-mx.example.com.",
      `mx.refusing-mx.example.com. 0 IN A ${PLACES.refusingMx}`,
      // The world's Gmail is the same Postfix, whose words we choose.
      `${GMAIL}. 0 IN MX 5 ${GMAIL_HOST}.`,
      `${EXIM_DOMAIN}. 0 IN MX 10 ${EXIM.hostname}.`,
      `${EXIM.hostname}. 0 IN A ${EXIM.address}`,
      `rdap.org. 0 IN A ${PLACES.registry}`,
      `${REGISTRY_HOST}. 0 IN A ${PLACES.registry}`,
      `time.example.com. 0 IN A ${PLACES.time}`,
      `wrong-time.example.com. 0 IN A ${PLACES.otherTime}`,
    ],
    cleanup,
  });
  await bind.set(GMAIL_HOST, "A", [PLACES.mx]);
  for (const [key, values] of Object.entries(FIRST_RECORDS)) {
    const [name = "", type = ""] = key.split(" ");
    await bind.set(name, type, values);
  }
  await startResolvers(folder, bind, cleanup);
  const everybody = ["0.0.0.0/0"];
  const lists = await startRbldnsd({
    folder,
    address: PLACES.lists,
    prefix,
    lists: {
      [LISTS.good]: CLEAN_LIST,
      [LISTS.world]: { ...CLEAN_LIST, entries: everybody },
      [LISTS.refusing]: REFUSING_LIST,
      [`${SPAMHAUS_KEY}.zen.dq.spamhaus.net`]: CLEAN_LIST,
      [NAME_LIST]: CLEAN_NAMES,
    },
    cleanup,
  });
  const mx = await startMx(folder, prefix);
  cleanup.add(() => mx.stop());
  if (exim !== null) await startExim({ ...{ folder, prefix, program: exim, cleanup }, ...EXIM });
  if (chrony !== null) await startClocks({ folder, prefix, program: chrony, cleanup });
  return { network, bind, lists, mx };
}

async function startResolvers(folder: string, { anchorFile }: Bind, cleanup: Cleanup): Promise<void> {
  const start = (address: string, more: string[] = []) =>
    startUnbound({ folder, address, rootServer: PLACES.names, anchorFile, more, cleanup });
  await Promise.all([
    start(RESOLVERS.good),
    // As resolvers of some hosters do, whose portal wants to be visited.
    start(RESOLVERS.liar, [`local-zone: "net." redirect`, `local-data: "net. A ${PLACES.mx}"`]),
    start(RESOLVERS.blind, [`module-config: "iterator"`]),
    start(RESOLVERS.noTcp),
    startCuttingResolver({ address: RESOLVERS.cutting, upstream: RESOLVERS.good, cleanup }),
  ]);
}

/** Everybody has a mailbox there, but for those whom words await. */
async function startMx(folder: string, prefix: readonly string[]): Promise<Postfix> {
  const words = "550 5.7.26 Your email has been blocked because the sender is unauthenticated.";
  const worded = Array.from({ length: WORDED }, (_, at) => [
    `{spam${at}@${MX_DOMAIN}=554 5.7.1 Message rejected as spam by our content filter}`,
    `{slow${at}@${MX_DOMAIN}=450 4.2.1 The user is receiving mail at a rate that is too high}`,
  ]).flat();
  // Mail to Gmail goes over TLS or not at all.
  const { certFile, keyFile } = await makeCertificate(folder, [`mx.${MX_DOMAIN}`, GMAIL_HOST]);
  return await startPostfix({
    folder,
    hostname: `mx.${MX_DOMAIN}`,
    port: 25,
    elsewhere: { prefix, address: PLACES.mx },
    services: `${PLACES.refusingMx}:25 inet n - n - - smtpd
  -o smtpd_delay_reject=no
  -o smtpd_client_restrictions=reject
`,
    settings: {
      inet_interfaces: `${PLACES.mx}, ${PLACES.refusingMx}`,
      mynetworks: "192.0.2.1/32",
      // What it sends itself, such as reports, goes to the machine that is looked at.
      relayhost: `[${SELF}]:25`,
      smtpd_tls_security_level: "may",
      smtpd_tls_cert_file: certFile,
      smtpd_tls_key_file: keyFile,
      smtpd_relay_restrictions: "reject_unauth_destination",
      smtpd_recipient_restrictions: `check_recipient_access inline:{${[`{refused@${GMAIL}=${words}}`, ...worded].join(",")}}`,
      virtual_mailbox_domains: `${MX_DOMAIN}, ${GMAIL}`,
      virtual_mailbox_maps: "static:all",
      virtual_transport: "discard:",
    },
  });
}

async function startClocks(options: {
  folder: string;
  prefix: readonly string[];
  program: string;
  cleanup: Cleanup;
}): Promise<void> {
  const servers = [
    startChrony({ ...options, address: PLACES.time }),
    startChrony({ ...options, address: PLACES.otherTime, ahead: "+1h" }),
  ];
  await waitUntil("chronyd", 5_000, () => servers.every((server) => server.output().includes("starting")));
}
