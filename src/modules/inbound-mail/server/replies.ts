import type { SMTPServerOptions } from "smtp-server";
import type { MessageFault } from "./content.ts";
import type { InboundLimits } from "./limits.ts";

/** How a message that is at fault is refused; `enhanced` as in RFC 3463. */
export const FAULTS: Record<MessageFault, { code: number; enhanced: string; words: string }> = {
  bare_line_end: { code: 554, enhanced: "5.6.0", words: "Lines must end with CR LF, and with nothing else" },
  header: { code: 554, enhanced: "5.6.0", words: "The message's header is too long" },
  too_large: { code: 552, enhanced: "5.3.4", words: "The message is too large" },
  no_room: { code: 451, enhanced: "4.3.0", words: "Too much mail is coming in at the moment, come back later" },
};

/** A refusal as the library takes it; it puts the enhanced code in front. */
export function refusal(code: number, words: string): Error {
  return Object.assign(new Error(words), { responseCode: code });
}

/** The same reply for every unknown recipient, which says no more. */
export const NOBODY = () => refusal(550, "There is no such mailbox here");
export const COME_BACK = () => refusal(451, "The message could not be kept, come back later");

/** Options of the library; server.ts adds the handlers. */
export function smtpOptions(hostname: string, limits: InboundLimits): SMTPServerOptions {
  return {
    name: hostname,
    heloResponse: "%s",
    size: limits.messageBytes,
    // Else the size is announced and no more.
    rejectOversized: true,
    maxRecipients: limits.recipients,
    maxCommandLength: limits.commandBytes,
    socketTimeout: limits.silenceMs,
    // Nobody signs in here: what is let in is let in by its recipient. Dummies and proxies' commands go too.
    authOptional: true,
    disabledCommands: ["AUTH", "XCLIENT", "XFORWARD", "HELP", "WIZ", "SHELL", "KILL"],
    disableReverseLookup: true,
    hideENHANCEDSTATUSCODES: false,
    logger: false,
  };
}
