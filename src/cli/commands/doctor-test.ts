// `pombo doctor --send-test ADDRESS`: one real message, what is said over it, and what a reply to it quotes.

import type { TestMail } from "../../modules/doctor/schema.ts";
import { systemClock } from "../../platform/clock.ts";
import type { Shown, Work } from "../client/operator-command.ts";
import { CommandError } from "../framework/definition.ts";
import { paint } from "../framework/screen.ts";
import { jsonLine, plain } from "../framework/text.ts";

type Test = typeof TestMail.static;
type Line = Test["lines"][number];

const PATH = "/operator/doctor/test-mail";
const POLL_MS = 500;
const WAIT_MS = 30 * 60_000;
const INTERRUPTED = 130;

const HEADERS = [
  "How the receiver saw it stands in the header of the message: open it, then in Gmail “Show original”, in Outlook “View message",
  "source”, elsewhere “Source” or “Headers”. Authentication-Results is to say spf=pass, dkim=pass and dmarc=pass. If it is",
  "in the spam folder although all three pass, the receiver does not know this address yet: begin with few messages.",
].join(" ");

/** Ends with the delivery's end, and where a reply can come with it, with Ctrl-C, or after half an hour. */
export async function sendTest({ api, args, terminal, isJson }: Work, to: string): Promise<Shown> {
  const domain = args.text("domain");
  const stop = terminal.stopSignal();
  let isStopped = false;
  void stop.then(() => (isStopped = true));
  let test = await api.call<Test>("POST", PATH, { to, ...(domain === undefined ? {} : { domain }) });
  const { id } = test;
  const say = (words: string) => {
    if (!isJson) terminal.say(words);
  };
  say(`A message from ${plain(test.from)} to ${plain(test.to)}. Ctrl-C ends the waiting, not the message.`);
  let shown = 0;
  let hasAsked = false;
  for (let waitedMs = 0; ; waitedMs += POLL_MS) {
    for (const line of test.lines.slice(shown)) say(formatLine(line));
    shown = test.lines.length;
    const canAnswer = test.status === "delivered" && test.replyTo !== null;
    if (canAnswer && !hasAsked) {
      say(`\n${paint("delivered", "green")}  ${HEADERS}\n`);
      say("Or answer the message with those headers pasted in: pombo reads them. It waits for half an hour.");
      hasAsked = true;
    }
    const isOver = test.reply !== null || (test.status !== "waiting" && !canAnswer);
    if (isOver || isStopped || waitedMs >= WAIT_MS) break;
    await Promise.race([stop, new Promise<void>((resolve) => void systemClock.after(POLL_MS, resolve))]);
    if (isStopped) break;
    test = await api.call<Test>("GET", PATH);
    if (test.id !== id) throw new CommandError("Another test was sent meanwhile, which this one gives way to.");
  }
  if (isJson) terminal.out(jsonLine(test));
  else terminal.say(conclude(test, hasAsked));
  if (isStopped && test.status === "waiting")
    throw new CommandError(`Stopped. The message is tried for half an hour: pombo trace ${id}`, INTERRUPTED);
  if (test.status !== "delivered" || test.reply?.results.some(({ result }) => result !== "pass") === true)
    terminal.setExitCode(1);
  return { kind: "shown" };
}

function conclude({ status, reason, reply, id }: Test, hasAsked: boolean): string {
  if (status === "waiting") return `It waits for another attempt: pombo trace ${id} shows how it goes on.`;
  if (status === "failed") {
    const why = reason === null ? "" : `: ${plain(reason)}`;
    return `${paint("failed", "red")}  It was not delivered${why}. pombo doctor says what stands in the way, pombo trace ${id} all that was said.`;
  }
  if (reply === null) return hasAsked ? "No reply was read." : `${paint("delivered", "green")}  ${HEADERS}`;
  if (reply.results.length === 0)
    return "The reply came, so that mail goes both ways. It quotes no Authentication-Results.";
  const words = reply.results.map(({ result, words: said }) => `${mark(result)}  ${plain(said)}`);
  return ["The reply came. It quotes:", ...words].join("\n");
}

function mark(result: string): string {
  return result === "pass" ? paint("ok", "green") : paint("problem", "red");
}

const SPEAKERS: Record<Line["by"], string> = { connect: "-->", client: " C:", server: " S:", note: "  #" };

function formatLine({ by, ms, text }: Line): string {
  const at = ms === null ? "" : `${(ms / 1_000).toFixed(2)} s`;
  return `${at.padStart(9)} ${SPEAKERS[by]} ${plain(text)}`;
}
