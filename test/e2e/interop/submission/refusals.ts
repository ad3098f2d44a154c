// What programs show their users when pombo refuses: its own words, whatever the program writes around them.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Api } from "../../../support/peers/pombo.ts";
import type { Checks } from "../checks.ts";
import { MX_DOMAIN } from "../mx.ts";
import { buildMessages, type Message } from "./messages.ts";
import { PEERS, type Server } from "./peers.ts";

const SHOWN_BY = ["nodemailer", "smtplib", "phpmailer", "msmtp"];
/** It shows all of the dialogue, so that it says what the words are. */
const WITNESS = "swaks";
const SUPPRESSED = `suppressed@${MX_DOMAIN}`;
const WRONG_PASSWORD = `svc_${"A".repeat(43)}`;

interface Refused {
  what: string;
  /** How the reply begins. */
  reply: string;
  message: Message;
  password: string;
}

export async function checkRefused(options: {
  folder: string;
  api: Api;
  server: Server;
  checks: Checks;
  isSmoke: boolean;
}): Promise<void> {
  const { api, checks, server, isSmoke } = options;
  const folder = join(options.folder, "refused");
  mkdirSync(folder);
  await api.expect(201, "POST", "/api/v1/suppressions", { address: SUPPRESSED });
  const cases = buildCases(folder, server.password);
  const words = new Map<string, string>();
  const peers = PEERS.filter(({ id, isSmoke: isInSmoke }) => SHOWN_BY.includes(id) && (isInSmoke === true || !isSmoke));
  for (const peer of [...PEERS.filter(({ id }) => id === WITNESS), ...peers]) {
    const place = join(folder, peer.id);
    mkdirSync(place);
    const submit = await peer.prepare(place);
    if (typeof submit === "string") {
      console.log(`NOT RUN ${peer.name}, refused: ${submit}`);
      continue;
    }
    for (const { what, reply, message, password } of cases) {
      const file = join(place, `${message.key}.json`);
      writeFileSync(file, JSON.stringify([message]));
      const { exitCode, output } = await submit(file, { ...server, password });
      if (peer.id === WITNESS) words.set(what, findWords(output, reply));
      const expected = words.get(what) ?? "";
      const isShown = exitCode !== 0 && expected !== "" && comparable(output).includes(comparable(expected));
      checks.claim(`${peer.name}, ${what}: shows ${reply} and why`, isShown, () => output.trim().slice(-290));
    }
  }
}

function buildCases(folder: string, password: string): Refused[] {
  const [message] = buildMessages({ folder, peer: "refused", mode: "refused" });
  if (message === undefined) throw new Error("there is no message to be refused");
  const stranger = { name: "Loja", address: "loja@stranger.test" };
  const suppressed = { name: "", address: SUPPRESSED };
  return [
    { what: "a wrong password", reply: "535 5.7.8", message, password: WRONG_PASSWORD },
    { what: "a foreign sender", reply: "550 5.7.1", message: { ...message, from: stranger }, password },
    { what: "a suppressed recipient", reply: "550 5.1.1", message: { ...message, to: [suppressed] }, password },
  ];
}

/** All that the server says after the code, as swaks shows it. */
function findWords(output: string, reply: string): string {
  const [code = "", enhanced = ""] = reply.split(" ");
  const lines = [...output.matchAll(new RegExp(`^<[~*]+ +${code}[ -](.*)$`, "gm"))].map(([, text = ""]) => text);
  const first = lines.find((line) => line.startsWith(`${enhanced} `));
  return first?.slice(enhanced.length).trim() ?? "";
}

/** Programs break lines. */
function comparable(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}
