/**
 * The meaning of words in bounce messages, as data, where src/protocols/smtp/replies/rules.ts does not know
 * them: those rules are for a server's answer, these for what a reporter writes of its own accord
 * (languages.ts has the languages other than English). On plain text (charset.ts): lower case, no
 * accents. The first that matches decides, and what must never suppress stands first. Our own table,
 * grown from what the reporters are known to write.
 */
import type { Category } from "../smtp/replies/classify.ts";

export interface Phrase {
  /** The software or provider that writes so. */
  by: string;
  category: Category;
  /** Gaps are bounded and quantifiers never nested: linear on any input. */
  pattern: RegExp;
}

/**
 * Words of providers that mean one thing only, in an answer at whatever command or in a report's own
 * text: they decide before all others, and need no further evidence.
 */
export const CERTAIN_PHRASES: Phrase[] = [
  // "Recipient's preferences" and "privacy settings", under 5.1.1.
  { by: "Facebook", category: "policy", pattern: /\brcp-p[23]\b/ },
  { by: "Facebook", category: "invalid_recipient", pattern: /\b(?:rcp-p1|int-p[134])\b/ },
  {
    by: "Yahoo, of its own domains: others that write so filter",
    category: "invalid_recipient",
    pattern:
      /user doesn't have an? (?:yahoo\.[a-z.]{2,8}|(?:ymail|rocketmail|aol|btinternet|rogers)\.com|(?:sbcglobal|prodigy|bellsouth|att)\.net) account/,
  },
  // Yahoo says so at the end of the content, too.
  { by: "Yahoo", category: "invalid_recipient", pattern: /552 1 requested mail action aborted, mailbox not found/ },
  {
    by: "Yahoo",
    category: "inactive_mailbox",
    pattern: /this account has been disabled or discontinued|this mailbox is disabled \(554\.30\)/,
  },
  {
    by: "Google",
    category: "invalid_recipient",
    pattern: /the e-?mail account that you tried to reach does not exist/,
  },
  { by: "Exchange", category: "invalid_recipient", pattern: /resolver\.adr\.(?:ex)?recip\w{0,10}notfound/ },
  { by: "La Poste, Orange", category: "invalid_recipient", pattern: /\b(?:lpn|ofr)\w{0,4}_416\b/ },
  { by: "qmail", category: "invalid_recipient", pattern: /\bbad(?:rcptto|recipientto)\b|not in my validrcptto/ },
  // 521 by itself is said of much else.
  { by: "RFC 7504: no mail is ever taken", category: "bad_domain", pattern: /\b521[ -]5\.3\.2 |\b556[ -]5\.1\.10 / },
  // Under 5.7.27, which is the sender's null MX.
  { by: "Sendmail, of a null MX", category: "bad_domain", pattern: /\b550 host does not accept mail\b/ },
  { by: "Symantec Email Security.cloud", category: "invalid_recipient", pattern: /\b542 \S{3,320} rejected\b/ },
];

/** The reporters' own findings and decisions: there is no answer of another server that says it. */
export const REPORTER_PHRASES: Phrase[] = [
  { by: "Google Groups", category: "policy", pattern: /group you tried to contact|groups\.google\.com\/support/ },
  { by: "Google", category: "policy", pattern: /^\W{0,4}message (?:blocked|rejected)\W{0,4}$/ },
  {
    by: "Google, Outlook, Sieve",
    category: "mailbox_full",
    pattern:
      /inbox (?:is )?full|mailbox is (?:over|full)|mailbox (?:of the recipient )?full|full (?:mail ?box|inbox)|mail ?box space not enough|(?:not enough|insufficient|no) (?:disk |storage )?space|exceeding (?:his|her|their|its) quota|mailfolder is full|mailbox (?:size|storage) (?:limit )?exceeded|mailbox exceeds allowed size|quota (?:is )?exceeded|over (?:disk )?quota/,
  },
  {
    by: "Exchange",
    category: "policy",
    pattern:
      /resolver\.rst\.|delivery to this address is restricted|submission\.rst\.|not allowed to send|not accepting mail from|you do not have (?:sufficient )?permission to/,
  },
  { by: "Exchange", category: "mailbox_full", pattern: /quotaexceeded|storedrv\.deliver[.;] ?mailbox full/ },
  {
    by: "Exchange",
    category: "expired",
    pattern: /queue\.expired|message expired|delayed too long|retry period expired/,
  },
  {
    by: "Exchange",
    category: "protocol",
    pattern: /hop count exceeded|routing loop|mail loop|forwarded more than the maximum/,
  },
  {
    by: "InterScan, IMail",
    category: "expired",
    pattern:
      /delivery failed \d+ attempts|after \d+ (?:attempts|tries)|exceeded maximum delivery attempts|was aborted after \d/,
  },
  {
    by: "Sendmail, Postfix, Exim, DMA, OpenSMTPD",
    category: "expired",
    pattern:
      /envelope expired|retry time(?:out)? (?:exceeded|not reached)|giving up|has been in the queue too long|in the queue too long|could not be delivered for (?:the last )?\d+|cannot send message (?:for|within)|unable to deliver .{0,40}for \d+ (?:days|hours)|(?:not be|undelivered|failing) (?:for|after|since) (?:the last |a long time|\d+)|all hosts .{0,40}failing for a long time|message (?:has )?timed out/,
  },
  {
    by: "Postfix, Exim, Outlook",
    category: "no_answer",
    pattern:
      /connection (?:timed out|refused)|operation timed out|socket error|network error on destination|did not accept our requests to connect|unable to connect|being unable to connect|server unavailable or busy|no route to host|host (?:or domain )?name lookup failure|dns lookup failure: \S{1,80} try again|temporary (?:lookup|dns) failure|unable to contact|did not respond/,
  },
  {
    by: "Secureserver: of the sender",
    category: "policy",
    pattern: /\bfrom: domain is invalid|provide a valid from\b/,
  },
  // That there are two of a name is an error of theirs, which somebody will correct.
  {
    by: "Domino, Exchange",
    category: "unknown",
    pattern: /several matches found|resolver\.adr\.(?:ambiguous|badprimary|invalidinsmtp|reciplimit)/,
  },
  {
    by: "Postfix, Exim, Google: the name server failed, which says nothing of the domain",
    category: "no_answer",
    pattern:
      /(?:malformed|unexpected) name server reply|host not found, try again|name service error .{0,320}(?:non-recoverable|server failure|refused)|\bservfail\b|host lookup did not complete|name server (?:failure|timeout|timed out)|dns (?:query|server) fail/,
  },
  {
    by: "qmail, Exim, Exchange, OpenSMTPD, DMA, Google",
    category: "bad_domain",
    pattern:
      /couldn't find any host|couldn't find a mail exchanger|domain .{0,80}couldn't be found|domain name not found|code nxdomain|null ?mx|indicated no smtp service|no entries for the hostname|unable to (?:resolve|find) mx|dns operator for \S{1,80} has installed an invalid mx|no valid mail exchangers?|no (?:mx|mail exchanger) (?:record )?(?:was )?found|host or domain name not found|no such domain|recipient domain must exist|name or service not known|domain (?:\S{1,80} )?(?:is )?unknown|doesn't receive e-?mail according to|dns lookup failure: host|domain does not exist|invalid (?:host|domain) name|(?:remote|recipient) domain does(?:n't| not)? exist|doesnt exist|illegal host|host address lookups failed permanently|dns server returned answer with no data|unknown host\b|host unknown|relevant mx records point to non-existent|unrout(?:e)?able mail domain|missing mx, or all mxs point to missing|nonexistentdomain|infodomainnonexistent|host\/domain does not accept mail|destination e-?mail system is unknown or invalid|domain missing or malformed/,
  },
  {
    by: "vpopmail, Mail.ru, IMail",
    category: "inactive_mailbox",
    pattern:
      /account is (?:currently )?(?:locked|disabled|inactive|suspended|not active)|(?:mailbox|user) (?:is )?(?:disabled|inactive|suspended)/,
  },
  {
    by: "qmail, Exim, Exchange, Domino, IMail, Google, Mimecast, MDaemon, phquery",
    category: "invalid_recipient",
    pattern:
      /no mailbox here by that name|this address no longer accepts mail|unrout(?:e)?able address|unknown (?:local[- ]?(?:part|user)|user|recipient|address)\b|resolver\.adr\.|recip(?:ient)?notfound|(?:address|recipient|account|mailbox|user)(?: name)? (?:not found|couldn't be found|could not be found|was not found|wasn't found|is not recognized|not recognized|not known|is unknown|is invalid|is wrong or no longer valid|is no longer valid|does not exist|doesn't exist|no longer exists?)|no user by that name|not a valid user (?:of|on)|no matches to nameserver query|recipient was invalid|(?:recipient|address) (?:is |was )?not (?:valid|listed)|no such (?:address|account)|wasn't found at|not listed in (?:public|domino)|invalid final delivery userid|address is possibly incorrect|ambiguous (?:recipient|address)|no valid recipients for this mm|e-?mail account (?:that you tried to reach )?does not exist|no such (?:user|mailbox|recipient)/,
  },
];

/**
 * Words of an answer that say that the user is unknown and can mean nothing else, also where nobody
 * tells which command was refused and no code tells what it was about. Fewer than a server's answer to
 * RCPT may have (src/protocols/smtp/replies/rules.ts), since what is refused may be the content.
 */
export const ANSWER_PHRASES: Phrase[] = [
  ...REPORTER_PHRASES,
  {
    by: "all",
    category: "inactive_mailbox",
    pattern: /\b(?:disabled|deactivated|inactive|discontinued) (?:mailbox|account|user|recipient)\b|mailbox is frozen/,
  },
  {
    by: "all",
    category: "invalid_recipient",
    pattern:
      /\b(?:no|not an?|unknown|invalid|non-?existent) (?:such |known |valid |local |active |virtual )*(?:user|recipient|mail ?box|mail box|address|addressee|account|alias|person)\b|\b(?:user|recipient|rcpt|mailbox|account|address|addressee)(?: name| address| account)? (?:\S{1,330} )?(?:is |was )?(?:unknown|invalid|was not found|does not exist|doesn't exist|not exist|not found|not present)\b|\bnot a registered .{0,20}user\b|^requested action not taken: mailbox unavailable/,
  },
];

/** Japanese carriers answer so after DATA to what they filter; to RCPT they write the address before the colon, or none. */
export const SAID_OF_FILTERED = /\b550:? ?: user unknown|\b550[ -]'?unknown user [^\s<>@]{1,64}@/;

/** PowerMTA's X-PowerMTA-BounceCategory: it has read the answer already. */
export const BOUNCE_CATEGORIES: Record<string, Category> = {
  "bad-mailbox": "invalid_recipient",
  "inactive-mailbox": "inactive_mailbox",
  "bad-domain": "bad_domain",
  "quota-issues": "mailbox_full",
  "spam-related": "spam_block",
  "virus-related": "spam_content",
  "content-related": "spam_content",
  "policy-related": "policy",
  "relaying-issues": "policy",
  "invalid-sender": "policy",
  "no-answer-from-host": "no_answer",
  "bad-connection": "bad_connection",
  "bad-configuration": "bad_connection",
  "routing-errors": "no_answer",
  "protocol-errors": "protocol",
  "message-expired": "expired",
};
