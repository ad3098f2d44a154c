/**
 * The classifier's knowledge, as data: what the words of a reply mean, and what an enhanced code
 * means when the words say nothing. The words come first, because servers use
 * `5.1.1` and `5.2.1` for mere filtering too. Our own table, grown from the replies of Gmail,
 * Outlook, Yahoo and the common servers. Order is meaning: the first rule that matches decides,
 * and all that must never suppress a recipient stands before all that does.
 */

/** Why a message was refused or delayed: the 14 categories of the API. */
export const CATEGORIES = [
  "invalid_recipient",
  "inactive_mailbox",
  "mailbox_full",
  "bad_domain",
  "policy",
  "spam_content",
  "spam_block",
  "auth_failed",
  "rate_limited",
  "no_answer",
  "bad_connection",
  "protocol",
  "expired",
  "unknown",
] as const;

export type Category = (typeof CATEGORIES)[number];

/** One rule on the words of a reply: lower case, one line, without links and addresses, ≤ 1 KB. */
export interface TextRule {
  category: Category;
  /** Gaps are bounded (`.{0,40}`) and quantifiers never nested: linear on any input. */
  pattern: RegExp;
  /** The rule holds only beside such an enhanced code (an absent one is the empty string). */
  enhanced?: RegExp;
}

export const TEXT_RULES: TextRule[] = [
  // Too much, too fast.
  {
    category: "rate_limited",
    pattern: /too (?:many|much) .{0,30}(?:connection|message|mail|recipient|session|request|rcpt|quer|error|command)/,
  },
  {
    category: "rate_limited",
    pattern:
      /too (?:quickly|fast|frequent)|rate.?limit|throttl|receiving mail at a rate|unusual rate|unexpected volume|sending rate|maximum number of (?:connection|message)/,
  },
  {
    category: "rate_limited",
    pattern:
      /max(?:imum)? (?:connection|message|recipient|session)s? (?:per|rate|limit)|(?:connection|message|hourly|daily|rate|sending) (?:limit|quota) (?:reached|exceeded|is)|exceeded .{0,30}(?:connection|rate|hourly|daily)/,
  },

  // Facebook, under 5.1.1: what the recipient chose about us.
  { category: "policy", pattern: /\brcp-p[23]\b/ },

  // "blocked due to inactivity" is nothing that we did.
  {
    category: "inactive_mailbox",
    pattern: /(?:mail ?box|account|user|address|recipient)\b.{0,60}(?:due to|because of|for) (?:\w{1,12} )?inactivity/,
  },

  // A state of today.
  {
    category: "unknown",
    pattern: /temporar(?:y|ily) (?:locked|disabled|suspended|inactive|closed|unavailable|not available)/,
  },

  // A blocklist by its name, before `spam` is read as a word about the content.
  {
    category: "spam_block",
    pattern:
      /spamhaus|spamcop|barracuda|sorbs|surriel|mailspike|abusix|uceprotect|proofpoint|cloudmark|senderscore|senderbase|invaluement|\brbls?\b|dnsr?bl|\b[sx]bl\b|\bpbl\b/,
  },

  // The content.
  {
    category: "spam_content",
    pattern:
      /virus|malware|phish|infected|trojan|illegal attachment|(?:blocked|prohibited|forbidden|banned|dangerous) .{0,20}(?:attachment|file|extension)/,
  },
  {
    category: "spam_content",
    pattern:
      /(?:nature of the|message|mail|its|spam) content|content (?:rejected|denied|filter|refused|blocked)|(?:suspicious|forbidden|unacceptable|prohibited|blocked) .{0,30}(?:content|links?\b|url|phrase|subject)/,
  },
  // "likely unsolicited mail" is about this message; "unsolicited mail originating from your IP address" is about us.
  {
    category: "spam_content",
    pattern:
      /(?:likely|looks? like|identified as|detected as|classified as|considered|appears? to be|flagged as|marked as|scored as|suspected|is) .{0,12}(?:spam|unsolicited|junk|uce\b|ube\b)/,
  },
  {
    category: "spam_content",
    pattern:
      /spam (?:message|mail|detected|score|refused|rejected|content|found|blocked|not accepted)|(?:high|hits|total) .{0,10}(?:spam|probability of spam)|message (?:contains|rejected as|was rejected as|refused as) .{0,10}spam|spamassassin|bayes/,
  },

  // The authentication of our domain. Before reputation, as its replies speak of blocking too.
  {
    category: "auth_failed",
    pattern:
      /dmarc|\bdkim\b|\bspf\b|sender policy framework|domainkeys|sender id (?:check|fail|perm)|unauthenticated (?:e-?mail|sender|mail)|not authenticated|authentication level|(?:e-?mail|message|sender|domain) .{0,20}(?:fail|pass)\w* .{0,20}authentication/,
  },

  // Our address and its name.
  {
    category: "policy",
    pattern: /\bptr\b|reverse.?dns|\brdns\b|fcrdns|reverse (?:lookup|hostname)|cannot find your hostname/,
  },
  {
    category: "spam_block",
    pattern:
      /black.?(?:list|hole)|block.?list|deny.?list|reputation|user complaints|(?:is|are|been|was|currently|temporarily|permanently) (?:blocked|banned|listed)|\bbanned\b|blocked (?:by|using|due|because|for|from|until|address|ip|as)|(?<!not )listed (?:in|on|at|by)\b/,
  },
  {
    category: "spam_block",
    pattern:
      /(?:your|sending|client|connecting|source|sender|remote) .{0,12}(?:ip|host|server|network)\b.{0,40}(?:block|reject|refus|denied|not allowed|untrusted|bad|listed|unacceptable)|untrusted ip|part of (?:your|their) network|unsolicited|connections? (?:will )?not (?:be )?accepted|refused to talk|service refus|spam/,
  },

  {
    category: "mailbox_full",
    pattern:
      /(?:over|exceed\w*|out of|beyond|full|above|reached) .{0,24}(?:quota|storage|disk space|mailbox size)|quota .{0,30}(?:exceed|full|reached|violat|over)|over.?quota|(?:mailbox|inbox|mail box|maildir|mailfolder|mail folder|account|user|disk|mail directory) .{0,24}(?:is |was )?(?:too )?(?:full|exceed|over the)|insufficient .{0,12}(?:storage|disk|space|quota)|no space left|not (?:have )?(?:enough|sufficient) .{0,12}(?:space|storage|quota)|too much mail stored|quota/,
  },
  // In other languages too, since a few say "unknown, or full".
  {
    category: "mailbox_full",
    pattern:
      /(?:mailbox|buzon|casilla|cuenta|caixa|conta|casella|boite|postfach|postbus|skrzynka) .{0,30}(?:llen[oa]|chei[oa]|lotad[oa]|pien[oa]|pleine?|voll?|pelna)\b/,
  },

  // Policy: about relaying, our names, the sender, the shape and size of the message.
  {
    category: "policy",
    pattern:
      /relay(?:ing)?\b.{0,24}(?:denied|not|prohibit|access|disallow|refus|block|required)|(?:not|unable|cannot|denied|won't|refus\w+|no|to|open) .{0,16}\brelay|relay(?:ing)? access|rcpthosts|\b[he][he]lo\b/,
  },
  {
    category: "policy",
    pattern:
      /sender (?:address |domain |e-?mail ){0,2}(?:is |was |has been )?(?:rejected|refused|denied|not|verif|unknown|blocked|invalid|does|must|suspend|unresolv|reject)|(?:invalid|unknown|unverified|bad|unresolvable|forged|missing|null|spoofed) (?:envelope )?(?:sender|return.?path|from)|mail from .{0,40}(?:not|reject|denied|invalid|refus|must|does|do)|domain of sender|sender's|(?:your|sending|originating|envelope) (?:domain|account|e-?mail|host ?name)\b|return path/,
  },
  {
    category: "policy",
    pattern:
      /polic(?:y|ies)|prohibited|administrative|local reasons|restrict|security (?:reason|violation|check|polic)|not (?:authori[sz]ed|permitted)|unauthori[sz]ed|permission|forbidden|(?:only|don't|do not|does not|cannot|not) .{0,20}(?:accept|receiv\w+|allow\w*) .{0,30}(?:outside|internal|external|authenticated|certain|other|list|senders?|encrypted|tls\b)|not allowed to (?:send|post)|not allowed|must (?:issue|use|be) .{0,20}(?:starttls|tls\b|encrypt)|tls .{0,12}required|grey.?list|gray.?list|authentication (?:is )?required|authenticate first|\bfilt(?:er|=)|(?:recipient|user) preferences|(?:recipient|user) (?:rejects|refuses|refused|denies|declined|do(?:es)?(?: not|n't) want)|(?:closed|limited|open) (?:only )?to (?:\w{1,12} )?(?:senders?|members?|users?)|(?:refused|rejected|blocked) by (?:the )?(?:recipient|user)|accept\w* (?:e-?mails?|mails?|messages?) (?:only )?(?:from|in)\b|forger(?:y|ies)\b|due to (?:\w{1,12} )?abuse|transport rule|by rule|moderat/,
  },
  {
    category: "policy",
    pattern:
      /(?:message|mail|size|content|header)s? .{0,24}(?:too (?:big|large|long)|exceed\w* .{0,30}(?:size|limit|maximum|length)|size limit)|size (?:limit|exceed)|too (?:big|large)|maximum .{0,16}(?:size|length)/,
  },
  { category: "policy", pattern: /access denied/, enhanced: /^(?!5\.4\.1$)/ },

  // The words of the mail's own protocol.
  {
    category: "protocol",
    pattern:
      /rfc.{0,6}(?:complian|conform|\d{3,4} (?:compl|section|violat))|not (?:rfc|standard)s? .{0,8}compl|(?:bare|stray|lone) (?:lf|cr|newline|line.?feed)|(?:missing|invalid|bad|malformed) .{0,20}header|(?:multiple|duplicate|invalid|bad|malformed|missing) (?:from|date|subject|message-id|mime|header)|syntax error|command (?:not|unrecogni|unknown)|unrecogni[sz]ed command|bad sequence|nested mail|polite people|mime error|too many hops|hop count|\bloop/,
  },
  {
    category: "expired",
    pattern:
      /(?:delivery time|message|queue|retry (?:time|timeout)|time.?to.?live|retry time) .{0,12}(?:expired|exceeded)|retry timeout|been (?:in (?:the )?queue|queued|waiting) .{0,12}(?:too )?long|could not be delivered (?:for|within)|giving up|undeliverable for/,
  },

  // The recipient: from here on a permanent answer to RCPT suppresses.
  {
    category: "bad_domain",
    pattern:
      /(?:host|domain)(?: or domain)?(?: name)? (?:\S{1,80} )?(?:is )?(?:unknown|not found|not exist|invalid|lookup fail|does not exist|doesn't exist|not known)|(?:unknown|no such|bad|invalid|non-?existent|illegal) (?:host|domain|destination (?:host|domain|system))|unrout(?:e)?able (?:mail )?domain|(?:null|no) mx\b|domain .{0,40}(?:does not|doesn't|not) accept\w* .{0,12}mail|does not accept (?:e-?)?mail\b(?! (?:in|from|with)\b)|recipient.{0,12} domain .{0,20}(?:invalid|not)|name service error|infodomainnonexistent|no (?:valid )?(?:mail )?(?:exchanger|mx)|host not found/,
  },
  {
    category: "inactive_mailbox",
    pattern:
      /(?:mailbox|account|user|recipient|address|addressee|customer|subscriber)(?: that you tried to reach)?(?:'s)?\W{1,4}.{0,24}(?:disabled|inactive|suspended|deactivat\w+|(?<!b)locked|not activ(?:e|ated)|no longer (?:active|in use|accept\w* (?:e-?)?mail|receiv\w* (?:e-?)?mail)|frozen|closed|discontinued|terminated|expired|dormant|unavailable due to inactivity)|(?:disabled|inactive|suspended|deactivated|locked|closed|expired|discontinued|blocked) (?:mailbox|account|user|recipient|mail box|e-?mail account)|is now disabled|mail receiving disabled|(?:mail ?box|account|user) (?:is |was |has been |have been )?(?:deleted|removed|retired|(?:overdue and )?cancell?ed)/,
  },
  {
    category: "invalid_recipient",
    pattern:
      /(?:user|recipient|receiver|mail[ -]?box|address|addressee|account|local.?part|person|destination|customer|subscriber|alias|inbox|login|name|destinatario|usuario)s?(?: address| name| e-?mail| account| mailbox)?(?: rejected)?[\W_]{0,4}(?:(?:is|was|are) )?(?:(?:not|isn't)[ _-]?(?:found|exist\w*|known|valid|local|here|listed|recogni[sz]ed|correct|hosted|ok\b|a member of)|unknown|unrecogni[sz]ed|invalid|undeliverable|non-?existent|does(?: not|n't) exist|doesn't exist|do not exist|not (?:a )?(?:valid|known)|no longer (?:valid|exists?|here|available|on|with|work)|cannot be found|could not be found|has moved|moved|has left|incorrect)/,
  },
  {
    category: "invalid_recipient",
    pattern:
      /(?:no|unknown|invalid|non-?existent|not a|not an|bad|not our|wrong|incorrect|illegal|no matching) (?:such |known |valid |local |active |destination |existing |virtual |recipient |mail )*(?:user|recipient|receiver|mail[ -]?box|mail ?drop|e-?mail|address|addressee|account|local.?part|person|customer|subscriber|alias|inbox|(?:one|body) (?:by|with|at|here)\b|such name|rcpt)|no such id\b/,
  },
  {
    category: "invalid_recipient",
    pattern:
      /(?:user|recipient|account|mailbox|customer|address).{0,40}(?:does not|doesn't|do not|don't|did not|didn't) (?:exist|have|belong|match|like)|(?:does not|doesn't|don't|do not) have (?:an? )?.{0,40}(?:account|mailbox|user)|recipient.?not.?found|recipnotfound|no such (?:\w+ )?here|unrout(?:e)?able address|not listed in|domino directory|name book|unknown or illegal alias|no one here|we would love to have gotten|all recipients (?:address )?rejected|mailbox not found|user rejected|delivery to .{0,40}not possible|is not (?:known|listed|valid)|no(?:t| longer) exist|no exist|(?:unable to|can(?:no|'|)t) find .{0,20}(?:user|alias|recipient|mailbox)|cannot deliver mail for|(?:does not|doesn't) handle mail for (?:that|this) user|recipients? cannot be verified|nobody (?:by|with|at|here)\b|(?:don't|do not) know (?:this|that|such) (?:user|address|recipient)|(?:user|recipient|address|mailbox)\b.{0,40}(?:could ?n[o']t|can(?:no|')t) be found|(?:can(?:no|')t|unable to) verify (?:the )?recipient|recipient (?:address )?(?:verif\w{1,10}|look-?up) fail|(?:user|recipient|mailbox|account) (?:is )?not registered|not present in|no longer (?:an employee|employed)|bad_recipient|not in (?:the |our |this )?(?:directory|ldap|address book)/,
  },
  {
    category: "invalid_recipient",
    pattern:
      /(?:has|have|user|recipient) .{0,12}(?:has moved|moved)|moved (?:to|with|permanently)|no forwarding address|left the (?:company|organi[sz]ation)|(?:changed|new) (?:e-?mail )?address|please (?:try|forward to) the following|verif(?:y|ied|ication) .{0,12}(?:recipient|address) failed|recipient verify failed/,
  },
  // Directory-based edge blocking: the tenant's directory does not know the address.
  {
    category: "invalid_recipient",
    pattern: /recipient address(?:es)? rejected ?: ?access denied/,
    enhanced: /^5\.4\.1$/,
  },
  {
    category: "invalid_recipient",
    pattern:
      /mail ?box unavailable|mailbox name not allowed|no mailbox|invalid (?:name|address)|(?:recipient|address|rcpt) rejected(?! ?:)/,
    enhanced: /^5\.(?:1\.[0-46]|2\.[01]|5\.0|0\.[01])$/,
  },
  {
    category: "invalid_recipient",
    pattern: /^(?:requested (?:mail )?action (?:not taken|aborted)[:,;]? )?(?:the )?mail ?box (?:is )?unavailable\b/,
    enhanced: /^$/,
  },

  // Nothing but this: what follows a colon would be the reason.
  {
    category: "invalid_recipient",
    pattern: /(?:recipient|rcpt)(?: address)? rejected[\W_]{0,8}$/,
    enhanced: /^$/,
  },
  {
    category: "invalid_recipient",
    pattern:
      /(?:benutzer|empf(?:ae)?nger|adressat|utilisateur|destinataire|adresse|utente|destinatario|indirizzo|destin\.|usuario|direccion|cuenta|casilla|gebruiker|adres|uzytkownik|konto) .{0,20}(?:unbekannt|inconnue?|inexistante?|sconosciut[ao]|inesistente|errato|desconocid[ao]|inexistente|onbekend|nieznany|nie istnieje|no existe|no encontrad[ao])|(?:onbekende|unbekannter?) (?:gebruiker|benutzer|empf(?:ae)?nger)|nie ma takiego (?:konta|uzytkownika)|^nie istnieje|neznamy uzivatel|kullanici bulunamadi/,
  },

  // The way there.
  {
    category: "bad_connection",
    pattern:
      /connection (?:lost|dropped|reset|closed|broken|aborted|interrupted)|lost connection|broken pipe|network (?:error|unreachable)|no route|remote (?:host|server) .{0,20}(?:dropped|closed|broke)/,
  },
  {
    category: "no_answer",
    pattern:
      /timed? ?out|not respond|no (?:answer|response)|connection (?:refused|timed)|unreachable|could not connect|cannot connect|host .{0,20}down/,
  },
  { category: "spam_block", pattern: /temporarily deferred|permanently deferred|mail .{0,30}not accepted|blocked/ },
];

/** The category of an enhanced code, by `subject.detail`; a key `x.*` stands for all details not named. */
export const ENHANCED_CATEGORIES: Record<string, Category> = {
  "1.1": "invalid_recipient",
  "1.3": "invalid_recipient",
  "1.4": "invalid_recipient",
  "1.6": "invalid_recipient",
  "7.17": "invalid_recipient",
  "2.1": "inactive_mailbox",
  "7.13": "inactive_mailbox",
  "1.2": "bad_domain",
  "1.10": "bad_domain",
  "4.4": "bad_domain",
  "4.310": "bad_domain",
  "7.18": "bad_domain",
  "2.2": "mailbox_full",
  "3.1": "mailbox_full",
  "1.7": "policy",
  "1.8": "policy",
  "2.3": "policy",
  "3.4": "policy",
  "7.20": "auth_failed",
  "7.21": "auth_failed",
  "7.22": "auth_failed",
  "7.23": "auth_failed",
  "7.24": "auth_failed",
  "7.26": "auth_failed",
  "7.515": "auth_failed",
  "7.28": "rate_limited",
  "7.38": "rate_limited",
  "4.5": "rate_limited",
  "5.3": "rate_limited",
  "4.1": "no_answer",
  "4.3": "no_answer",
  "4.2": "bad_connection",
  "4.6": "protocol",
  "4.7": "expired",
  "5.*": "protocol",
  "6.*": "protocol",
  "7.*": "policy",
};
