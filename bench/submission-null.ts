// A server that says yes to all and keeps nothing: what the load of `script/bench submission` can do at most. Takes a message
// to be over when a packet ends with its final dot, as those of the load do.
//
// Run by bench/submission.ts: bun bench/submission-null.ts PORT

import { createServer, type Socket } from "node:net";
import { createSecureContext, TLSSocket } from "node:tls";
import { RELAY_CERTIFICATE } from "../test/support/fakes/certificates.ts";

const FINAL_DOT = Buffer.from("\r\n.\r\n", "latin1");
const secureContext = createSecureContext(RELAY_CERTIFICATE);

createServer({ noDelay: true }, (socket) => {
  socket.on("error", () => undefined);
  socket.write("220 null ESMTP\r\n");
  serve(socket);
}).listen(Number(process.argv[2]), "127.0.0.1");

function serve(socket: Socket): void {
  let isData = false;
  socket.on("data", (chunk: Buffer) => {
    if (isData) {
      if (!chunk.subarray(-FINAL_DOT.length).equals(FINAL_DOT)) return;
      isData = false;
      socket.write("250 Accepted\r\n");
      return;
    }
    const lines = chunk.toString("latin1").split("\r\n").slice(0, -1);
    if (lines[0] === "STARTTLS") {
      socket.removeAllListeners("data");
      socket.write("220 Go ahead\r\n");
      const secure = new TLSSocket(socket, { isServer: true, secureContext });
      secure.on("error", () => undefined);
      return serve(secure);
    }
    isData = lines.at(-1) === "DATA";
    socket.write(lines.map(answer).join(""));
  });
}

function answer(line: string): string {
  if (line === "DATA") return "354 Send it\r\n";
  if (line.startsWith("AUTH")) return "235 Accepted\r\n";
  return line.startsWith("EHLO") ? "250-null\r\n250 PIPELINING\r\n" : "250 Accepted\r\n";
}
