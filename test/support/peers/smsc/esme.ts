/**
 * An ESME that is not pombo: the `smpp` package as it comes from its makers, in a process of its own since pombo
 * patches it in its. `bun test/support/peers/smsc/esme.ts <plan in JSON>` binds, sends, waits for receipts, unbinds, and
 * says in one line of JSON what it saw. It proves the SMSC.
 */

export interface Plan {
  port: number;
  command: "bind_transceiver" | "bind_transmitter" | "bind_receiver";
  systemId: string;
  password: string;
  /** Texts to send, to these numbers. */
  to: string[];
  /** The same again, so often in all. */
  rounds: number;
  window: number;
  /** Messages and receipts to wait for. */
  deliveries: number;
}

export interface Seen {
  bindStatus: number;
  systemId: string | null;
  answers: { status: number; id: string }[];
  deliveries: { text: string; esmClass: number; receiptedId: string | null; state: number | null }[];
  enquireStatus: number;
  unbindStatus: number;
  /** Milliseconds from the first submit to the last answer. */
  tookMs: number;
}

interface Pdu {
  command_status: number;
  esm_class: number;
  message_id?: string;
  system_id?: string;
  short_message?: { message: string | Buffer };
  receipted_message_id?: string;
  message_state?: number;
  response(): Pdu;
}

interface Client {
  on(event: string, listener: (pdu: Pdu) => void): void;
  send(pdu: Pdu, answered?: (answer: Pdu) => void): boolean;
  close(closed: () => void): void;
}

interface Package {
  connect(options: { host: string; port: number }, connected: () => void): Client;
  PDU: new (command: string, fields?: object) => Pdu;
}

// A variable: the compiler has types for what pombo uses of it alone.
const PACKAGE: string = "smpp";

async function run(plan: Plan): Promise<Seen> {
  const { default: smpp } = (await import(PACKAGE)) as { default: Package };
  const connected = Promise.withResolvers<void>();
  const client = smpp.connect({ host: "127.0.0.1", port: plan.port }, () => connected.resolve());
  client.on("error", () => undefined);
  await connected.promise;
  const ask = (command: string, fields: object = {}) => {
    const answer = Promise.withResolvers<Pdu>();
    client.send(new smpp.PDU(command, fields), (pdu) => answer.resolve(pdu));
    return answer.promise;
  };
  const delivered = Promise.withResolvers<void>();
  const deliveries: Seen["deliveries"] = [];
  const take = (pdu: Pdu) => {
    client.send(pdu.response());
    deliveries.push({
      text: String(pdu.short_message?.message ?? ""),
      esmClass: pdu.esm_class,
      receiptedId: pdu.receipted_message_id ?? null,
      state: pdu.message_state ?? null,
    });
    if (deliveries.length >= plan.deliveries) delivered.resolve();
  };
  client.on("deliver_sm", take);
  client.on("data_sm", take);
  const { systemId: system_id, password } = plan;
  const bound = await ask(plan.command, { system_id, password, interface_version: 0x34 });
  const seen = { bindStatus: bound.command_status, systemId: bound.system_id ?? null, deliveries };
  if (bound.command_status !== 0) {
    return { ...seen, answers: [], enquireStatus: -1, unbindStatus: -1, tookMs: 0 };
  }
  const startedAt = performance.now();
  const answers = await sendAll(plan, ask);
  const tookMs = performance.now() - startedAt;
  if (plan.deliveries > 0) await delivered.promise;
  const enquired = await ask("enquire_link");
  const unbound = await ask("unbind");
  const [enquireStatus, unbindStatus] = [enquired.command_status, unbound.command_status];
  return { ...seen, answers, enquireStatus, unbindStatus, tookMs };
}

async function sendAll(plan: Plan, ask: (command: string, fields: object) => Promise<Pdu>): Promise<Seen["answers"]> {
  const answers: Seen["answers"] = [];
  const total = plan.to.length * plan.rounds;
  let next = 0;
  const sendOn = async () => {
    while (next < total) {
      const nth = next;
      next += 1;
      const answer = await ask("submit_sm", {
        source_addr: "LOJA",
        destination_addr: plan.to[nth % plan.to.length],
        registered_delivery: 1,
        short_message: `Mensagem ${nth}`,
      });
      answers[nth] = { status: answer.command_status, id: answer.message_id ?? "" };
    }
  };
  await Promise.all(Array.from({ length: plan.window }, sendOn));
  return answers;
}

if (import.meta.main) {
  console.log(JSON.stringify(await run(JSON.parse(process.argv[2] ?? "{}") as Plan)));
  process.exit(0);
}

/** Runs it to its end. */
export async function runEsme(plan: Partial<Plan> & { port: number }): Promise<Seen> {
  const usual = { command: "bind_transceiver", systemId: "esme", password: "geheim", to: [], rounds: 1, window: 10 };
  const whole = { ...usual, deliveries: 0, ...plan };
  const child = Bun.spawn([process.execPath, import.meta.path, JSON.stringify(whole)], { stderr: "inherit" });
  return JSON.parse(await new Response(child.stdout).text()) as Seen;
}
