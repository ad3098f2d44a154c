import { expect, test } from "bun:test";
import dgram from "node:dgram";
import net from "node:net";
import { decode, encode } from "dns-packet";
import { createResolver } from "../../../src/protocols/dns/client.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { answerMessage, startSandboxDns } from "../../../src/sandbox/dns/server.ts";
import { createManualClock } from "../../support/dns/manual-clock.ts";

const question = (name: string) => ({ type: "A" as const, name });

test("the sandbox answers records, absence and failure over one port", async () => {
  const server = await startSandboxDns({
    answer(name, type) {
      if (name === "broken.test") return "servfail";
      if (name !== "a.test") return "no_name";
      return type === "MX" ? [{ type, preference: 10, exchange: "mx.a.test" }] : [];
    },
  });
  const resolver = createResolver({ servers: [server.address], clock: createManualClock(), random: systemRandom });
  expect(await resolver.mx("A.test")).toMatchObject({ records: [{ preference: 10, exchange: "mx.a.test" }] });
  expect(await resolver.a("a.test")).toMatchObject({ kind: "no_data" });
  expect(await resolver.a("b.test")).toMatchObject({ kind: "no_name" });
  expect(await resolver.a("broken.test")).toMatchObject({ kind: "failed" });
  await server.close();
});

test("two questions on one TCP connection are answered in turn", async () => {
  const server = await startSandboxDns({ answer: () => [{ type: "A", value: "127.0.0.1" }] });
  const frame = (id: number) => {
    const message = encode({ type: "query", id, questions: [question("a.test")] });
    return Buffer.concat([Buffer.from([0, message.length]), message]);
  };
  const socket = net.connect({ host: "127.0.0.1", port: server.port });
  const ids = new Promise<(number | undefined)[]>((resolve) => {
    let bytes = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      const length = bytes.length < 2 ? Number.NaN : bytes.readUInt16BE(0);
      // Both answers are of the same length.
      if (bytes.length !== 2 * (2 + length)) return;
      resolve([decode(bytes.subarray(2, 2 + length)).id, decode(bytes.subarray(4 + length)).id]);
    });
  });
  const both = Buffer.concat([frame(1), frame(2)]);
  socket.write(both.subarray(0, 5));
  socket.write(both.subarray(5));
  expect(await ids).toEqual([1, 2]);
  socket.destroy();
  await server.close();
});

test("an answer is cut to 512 bytes without EDNS, to 1,232 with it, and never over TCP", () => {
  const answer = () => Array.from({ length: 40 }, (_, index) => ({ type: "A" as const, value: `10.0.0.${index}` }));
  const plain = encode({ type: "query", id: 1, questions: [question("a.test")] });
  const edns = encode({
    type: "query",
    id: 1,
    questions: [question("a.test")],
    additionals: [
      {
        type: "OPT",
        name: ".",
        udpPayloadSize: 4096,
        extendedRcode: 0,
        ednsVersion: 0,
        flags: 0,
        flag_do: false,
        options: [],
      },
    ],
  });
  const isCut = (bytes: Buffer | null) => bytes !== null && decode(bytes).flag_tc;
  expect(isCut(answerMessage(plain, "udp", answer))).toBe(true);
  expect(isCut(answerMessage(edns, "udp", answer))).toBe(false);
  expect(isCut(answerMessage(plain, "tcp", answer))).toBe(false);
  const more = () => [...answer(), ...answer()];
  expect(isCut(answerMessage(edns, "udp", more))).toBe(true);
});

test("what is not a query gets no answer, and the server goes on", async () => {
  const server = await startSandboxDns({ answer: () => [{ type: "A", value: "127.0.0.1" }] });
  const socket = dgram.createSocket("udp4");
  const answered = new Promise<Buffer>((resolve) => socket.once("message", resolve));
  const send = (bytes: Buffer) => socket.send(bytes, server.port, "127.0.0.1");
  send(Buffer.from("x"));
  send(Buffer.alloc(12, 0xff));
  send(encode({ type: "response", id: 7, questions: [question("a.test")] }));
  send(encode({ type: "query", id: 9, questions: [question("a.test")] }));
  expect(decode(await answered).id).toBe(9);
  socket.close();
  await server.close();
});

test("a resolver that has nothing to ask does not keep the process alive", async () => {
  const server = await startSandboxDns({ answer: () => [{ type: "A", value: "127.0.0.1" }] });
  const script = `
    import { createResolver } from "./src/protocols/dns/client.ts";
    import { systemClock } from "./src/platform/clock.ts";
    import { systemRandom } from "./src/platform/random.ts";
    const resolver = createResolver({ servers: ["${server.address}"], clock: systemClock, random: systemRandom });
    console.log((await resolver.a("a.test")).kind);
  `;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", cwd: `${import.meta.dir}/../../..` });
  // Ends well before the 5 s of a timer that was left behind.
  expect(await child.exited).toBe(0);
  expect(await new Response(child.stdout).text()).toBe("found\n");
  await server.close();
}, 4000);
