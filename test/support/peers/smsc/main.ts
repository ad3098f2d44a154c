/**
 * An SMSC for tests, as a process of its own: `bun test/support/peers/smsc/main.ts <options in JSON>`. It says its ports
 * in one line of JSON, and ends when its standard input does, so that it does not survive who started it.
 */
import * as net from "node:net";
import * as tls from "node:tls";
import { freePort } from "../process.ts";
import { Conversation } from "./conversation.ts";
import { serveControl } from "./control.ts";
import { Journal } from "./journal.ts";
import type { Change, Script } from "./script.ts";
import { Smsc } from "./smsc.ts";

export interface SmscOptions {
  /** 0 takes a free one. */
  port: number;
  script: Change<Script>;
  /** TLS from the first octet on. */
  certificate: { key: string; cert: string } | null;
  /** The file for every PDU; null: not kept. */
  journal: string | null;
}

/** The listener, which can be taken away and come back at the same port. */
export interface Door {
  readonly port: number;
  open(): Promise<void>;
  /** Nobody new is let in; those who are in stay. */
  shut(): void;
}

function makeDoor(smsc: Smsc, { port, certificate }: SmscOptions): Door {
  let count = 0;
  let server: net.Server | null = null;
  const welcome = (socket: net.Socket) => {
    count += 1;
    // Not kept: it is in the SMSC's set while it lasts.
    return void new Conversation(socket, count, smsc);
  };
  const door: Door = {
    port,
    open: () =>
      new Promise((resolve, reject) => {
        const opened = certificate === null ? net.createServer(welcome) : tls.createServer(certificate, welcome);
        server = opened;
        opened.on("tlsClientError", () => undefined);
        opened.once("error", reject);
        opened.listen(port, "127.0.0.1", resolve);
      }),
    shut() {
      server?.close();
      server = null;
    },
  };
  return door;
}

const options = JSON.parse(process.argv[2] ?? "{}") as SmscOptions;
const journal = new Journal(options.journal);
const smsc = new Smsc(journal);
smsc.change(options.script);
// Shut, its port stays its own: no outgoing connection gets one of these.
const port = options.port === 0 ? await freePort() : options.port;
const door = makeDoor(smsc, { ...options, port });
await door.open();
const control = serveControl(smsc, door);
console.log(JSON.stringify({ port: door.port, control: control.port }));
process.stdin.resume();
process.stdin.once("end", () => {
  journal.close();
  process.exit(0);
});
