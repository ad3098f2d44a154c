import type { Socket } from "node:net";
import * as tls from "node:tls";
import type { Answer, Mx, MxConnection, MxMessage, Step } from "./mx.ts";
import { MxAuth } from "./mx-auth.ts";
import { STAGES, usualAnswer, type MxStage } from "./mx-usual.ts";

interface Surroundings {
  mx: Mx;
  secureContext: tls.SecureContext;
  notify: () => void;
}

/** One connection of the scripted server: commands in, the script's answers out, everything kept. */
export class MxConversation implements MxConnection {
  readonly commands: string[] = [];
  readonly messages: MxMessage[] = [];
  isTls = false;
  serverName: string | null = null;
  isClosed = false;
  readonly remoteAddress: string;
  readonly #around: Surroundings;
  #socket: Socket;
  #received: Buffer[] = [];
  #clear: Buffer[] = [];
  #pending = Buffer.alloc(0);
  #isInContent = false;
  #hasAnsweredContent = false;
  #isHelloAwaited = false;
  #isBusy = false;
  #isStalled = false;
  #from: string | null = null;
  #to: string[] = [];
  readonly #auth = new MxAuth();
  #isInAuth = false;

  constructor(socket: Socket, around: Surroundings) {
    this.remoteAddress = socket.remoteAddress ?? "";
    this.#socket = socket;
    this.#around = around;
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#received);
  }

  get clearBytes(): Buffer {
    return Buffer.concat(this.isTls || this.#isHelloAwaited ? this.#clear : this.#received);
  }

  get user(): string | null {
    return this.#auth.user;
  }

  begin(): void {
    const greet = () =>
      void this.#run(async () => {
        await this.#answer("greeting", "");
      });
    this.#listen();
    if (this.#around.mx.script.isImplicitTls === true) this.#upgrade(greet);
    else greet();
  }

  say(bytes: string): void {
    if (!this.isClosed) this.#socket.write(bytes);
  }

  drop(): void {
    this.#socket.destroy();
    this.#closed();
  }

  #listen(): void {
    const socket = this.#socket;
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    socket.on("error", () => this.#closed());
    socket.on("end", () => socket.end());
    socket.on("close", () => this.#closed());
  }

  #closed(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#around.notify();
  }

  #receive(chunk: Buffer): void {
    this.#received.push(chunk);
    if (this.#isHelloAwaited) return this.#meetHello();
    this.#pending = Buffer.concat([this.#pending, chunk]);
    void this.#run(() => this.#take());
    this.#around.notify();
  }

  /** Steps may be slow; what comes meanwhile waits its turn. */
  async #run(turn: () => Promise<void>): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      await turn();
      await this.#take();
    } finally {
      this.#isBusy = false;
      this.#around.notify();
    }
  }

  async #take(): Promise<void> {
    while (!this.#isStalled && !this.isClosed && !this.#isHelloAwaited) {
      if (this.#isInContent) {
        if (!(await this.#takeContent())) return;
        continue;
      }
      const end = this.#pending.indexOf("\r\n");
      if (end === -1) return;
      const line = this.#pending.toString("utf8", 0, end);
      this.#pending = this.#pending.subarray(end + 2);
      this.commands.push(line);
      await this.#obey(line);
      this.#around.notify();
    }
  }

  async #obey(line: string): Promise<void> {
    const verb = this.#isInAuth ? "AUTH" : line.split(/[ :]/, 1)[0]!.toUpperCase();
    const stage = STAGES[verb] ?? STAGES[line.split(":", 1)[0]!.toUpperCase()];
    if (stage === undefined) return this.say(verb === "NOOP" ? "250 2.0.0 Ok\r\n" : "502 5.5.2 Not known\r\n");
    const said = await this.#answer(stage, line);
    this.#isInAuth = stage === "auth" && said.startsWith("334");
    const address = /<(.*)>/.exec(line)?.[1] ?? "";
    if (stage === "mail" && said.startsWith("2")) [this.#from, this.#to] = [address, []];
    if (stage === "rcpt" && said.startsWith("2")) this.#to.push(address);
    if (stage === "rset") [this.#from, this.#to] = [null, []];
    if (stage === "startTls" && said.startsWith("220")) this.#upgrade();
    if (stage === "quit") this.#socket.end();
    if (stage !== "data" || !said.startsWith("354")) return;
    this.#isInContent = true;
    this.#hasAnsweredContent = false;
    if (this.#around.mx.script.isContentUnread === true) {
      this.#isStalled = true;
      this.#socket.pause();
    }
  }

  /** True when the content ended and commands follow. */
  async #takeContent(): Promise<boolean> {
    const { script } = this.#around.mx;
    if (script.dropInContentAfter !== undefined && this.#pending.length >= script.dropInContentAfter) {
      this.drop();
      return false;
    }
    if (script.content !== undefined && !this.#hasAnsweredContent && this.#pending.length > 0) {
      this.#hasAnsweredContent = true;
      await this.#answer("content", "");
    }
    const isEmpty = this.#pending.subarray(0, 3).toString("latin1") === ".\r\n";
    const end = isEmpty ? 0 : this.#pending.indexOf("\r\n.\r\n");
    if (end === -1 || this.#pending.length === 0) return false;
    const stuffed = Buffer.from(this.#pending.subarray(0, isEmpty ? 0 : end + 2));
    this.#pending = this.#pending.subarray(isEmpty ? 3 : end + 5);
    this.#isInContent = false;
    const content = Buffer.from(stuffed.toString("latin1").replace(/(^|\r\n)\.\./g, "$1."), "latin1");
    const message = { from: this.#from ?? "", to: this.#to, stuffed, content, isTls: this.isTls };
    [this.#from, this.#to] = [null, []];
    this.messages.push(message);
    this.#around.mx.messages.push(message);
    await this.#answer("dot", "");
    this.#around.notify();
    return true;
  }

  /** Gives the script's answer, or the usual one; returns what was said. */
  async #answer(stage: MxStage, command: string): Promise<string> {
    const { script } = this.#around.mx;
    const hasSender = this.#from !== null;
    const state = { isTls: this.isTls, isSignedIn: this.user !== null, hasSender, hasRecipient: this.#to.length > 0 };
    const isAuth = stage === "auth" && script.accounts !== undefined;
    const usual = () => (isAuth ? this.#auth.take(command, script.accounts ?? {}) : usualAnswer(stage, script, state));
    const step: Step = script[stage] ?? usual();
    const answer: Answer = typeof step === "function" ? await step(command, this) : step;
    return this.#send(answer);
  }

  async #send(answer: Answer): Promise<string> {
    if (typeof answer === "string") {
      const bytes = `${answer.replace(/\r?\n/g, "\r\n")}\r\n`;
      this.say(bytes);
      return bytes;
    }
    switch (answer.kind) {
      case "stall":
        this.#isStalled = true;
        return "";
      case "drop":
        this.drop();
        return "";
      case "raw":
        if (!this.isClosed) this.#socket.write(answer.bytes);
        if (answer.thenDrop) this.#socket.end();
        return Buffer.from(answer.bytes as string).toString("latin1");
      case "flood":
        await this.#flood(answer.piece, answer.bytes);
        return "";
    }
  }

  async #flood(piece: string, bytes: number): Promise<void> {
    const block = piece.repeat(Math.max(1, Math.ceil(65_536 / piece.length)));
    for (let sent = 0; sent < bytes && !this.isClosed; sent += block.length) {
      if (this.#socket.write(block)) continue;
      const socket = this.#socket;
      await new Promise<void>((resolve) => {
        const goOn = () => {
          socket.off("drain", goOn);
          socket.off("close", goOn);
          resolve();
        };
        socket.once("drain", goOn);
        socket.once("close", goOn);
      });
    }
  }

  #upgrade(secured: () => void = () => {}): void {
    this.#clear = [...this.#received];
    if (this.#around.mx.script.tls !== "good") {
      this.#isHelloAwaited = true;
      if (this.#pending.length > 0) this.#meetHello();
      return;
    }
    const clear = this.#socket;
    clear.removeAllListeners();
    clear.on("error", () => {});
    const socket = new tls.TLSSocket(clear, { isServer: true, secureContext: this.#around.secureContext });
    this.#received = [];
    this.#pending = Buffer.alloc(0);
    this.#socket = socket;
    socket.once("secure", () => {
      this.isTls = true;
      const name = (socket as tls.TLSSocket & { servername?: string | false }).servername;
      this.serverName = typeof name === "string" ? name : null;
      secured();
    });
    this.#listen();
  }

  #meetHello(): void {
    this.#clear = [...this.#received];
    if (this.#around.mx.script.tls === "garbage") this.say("500 this is not TLS\r\n");
    if (this.#around.mx.script.tls === "drop") this.drop();
    this.#around.notify();
  }
}
