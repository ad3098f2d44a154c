// Mail servers that take every message slowly: 64 KiB every three seconds, a little above what pombo gives up.
// Its own process, so that its memory and CPU are counted apart.
//
// Run by bench/attachments.ts: bun bench/slow-sink.ts ADDRESS PORT

import { createServer, type Socket } from "node:net";

const TAKEN_BYTES = 64 * 1024;
const EVERY_MS = 3_000;
const END = "\r\n.\r\n";

function serve(socket: Socket): void {
  let [isContent, taken, line, tail] = [false, 0, "", ""];
  const answer = (text: string) => socket.write(`${text}\r\n`);
  socket.on("error", () => undefined);
  socket.on("data", (chunk: Buffer) => {
    if (isContent) {
      taken += chunk.length;
      tail = (tail + chunk.subarray(-END.length).toString("latin1")).slice(-END.length);
      if (tail === END) {
        isContent = false;
        return void answer("250 2.0.0 Taken");
      }
      if (taken < TAKEN_BYTES) return;
      taken = 0;
      socket.pause();
      setTimeout(() => socket.resume(), EVERY_MS);
      return;
    }
    line += chunk.toString("latin1");
    for (let end = line.indexOf("\r\n"); end >= 0; end = line.indexOf("\r\n")) {
      const command = line.slice(0, 4).toUpperCase();
      line = line.slice(end + 2);
      if (command === "EHLO") answer("250-slow\r\n250 PIPELINING");
      else if (command === "DATA") {
        isContent = true;
        answer("354 Go on");
      } else if (command === "QUIT") socket.end("221 Bye\r\n");
      else answer("250 2.0.0 Ok");
    }
  });
  answer("220 slow ESMTP");
}

const [address = "127.0.0.4", port = "25"] = process.argv.slice(2);
createServer(serve).listen(Number(port), address);
