/**
 * What the words of bounce messages mean, as data, where src/smtp/classify-rules.ts does not know
 * them: those rules are for a server's answer in English, these for what a reporter writes of its own
 * accord, and for other languages. On plain text (charset.ts): lower case, no accents. The first that
 * matches decides, and what must never suppress stands first. Our own table, grown from what the
 * reporters are known to write.
 *
 * No words of Japanese carriers are here: they say "unknown" of addresses that only filter us.
 */
import type { Category } from "../smtp/classify.ts";

export interface Phrase {
  /** Who writes so. */
  by: string;
  category: Category;
  /** Gaps are bounded and quantifiers never nested: linear on any input. */
  pattern: RegExp;
}

/**
 * Words of providers that mean one thing alone, in an answer at whatever command or in a report's own
 * text: they decide before all others, and need no further evidence.
 */
export const CERTAIN_PHRASES: Phrase[] = [
  // "Recipient's preferences" and "privacy settings", under 5.1.1.
  { by: "Facebook", category: "policy", pattern: /\brcp-p[23]\b/ },
  { by: "Facebook", category: "invalid_recipient", pattern: /\b(?:rcp-p1|int-p[134])\b/ },
  { by: "Yahoo", category: "invalid_recipient", pattern: /user doesn't have an? yahoo\.[a-z.]{2,8} account/ },
  { by: "Yahoo", category: "inactive_mailbox", pattern: /this account has been disabled or discontinued \[#/ },
  {
    by: "Google",
    category: "invalid_recipient",
    pattern: /the e-?mail account that you tried to reach does not exist/,
  },
  { by: "Exchange", category: "invalid_recipient", pattern: /resolver\.adr\.(?:ex)?recip\w{0,10}notfound/ },
  { by: "La Poste, Orange", category: "invalid_recipient", pattern: /\b(?:lpn|ofr)\w{0,4}_416\b/ },
  { by: "Symantec Email Security.cloud", category: "invalid_recipient", pattern: /\b542 \S{3,320} rejected\b/ },
];

/** What reporters find out or decide by themselves: there is no answer of another server that says it. */
export const REPORTER_PHRASES: Phrase[] = [
  { by: "Google Groups", category: "policy", pattern: /group you tried to contact|groups\.google\.com\/support/ },
  { by: "Google", category: "policy", pattern: /^\W{0,4}message (?:blocked|rejected)\W{0,4}$/ },
  {
    by: "Google, Outlook, Sieve",
    category: "mailbox_full",
    pattern:
      /inbox (?:is )?full|mailbox is (?:over|full)|mailbox (?:of the recipient )?full|(?:not enough|no) (?:disk )?space|quota (?:is )?exceeded|over (?:disk )?quota/,
  },
  {
    by: "Exchange",
    category: "policy",
    pattern: /resolver\.rst\.|delivery to this address is restricted|submission\.rst\.|not allowed to send/,
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
  { by: "InterScan, IMail", category: "expired", pattern: /delivery failed \d+ attempts|after \d+ (?:attempts|tries)/ },
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
      /connection (?:timed out|refused)|operation timed out|socket error|network error on destination|did not accept our requests to connect|unable to connect|being unable to connect|no route to host|host (?:or domain )?name lookup failure|temporary (?:lookup|dns) failure|unable to contact|did not respond/,
  },
  {
    by: "qmail, Exim, Exchange, OpenSMTPD, DMA, Google",
    category: "bad_domain",
    pattern:
      /couldn't find any host|couldn't find a mail exchanger|domain .{0,80}couldn't be found|domain name not found|code nxdomain|null ?mx|indicated no smtp service|doesn't receive e-?mail according to|dns lookup failure: host|domain does not exist|(?:remote|recipient) domain does(?:n't| not)? exist|doesnt exist|no mx found for|illegal host|host address lookups failed permanently|dns server returned answer with no data|unknown host\b|host unknown|relevant mx records point to non-existent|nonexistentdomain|infodomainnonexistent|host\/domain does not accept mail|destination e-?mail system is unknown or invalid|domain missing or malformed/,
  },
  {
    by: "vpopmail",
    category: "inactive_mailbox",
    pattern: /account is (?:locked|disabled|inactive)|mailbox (?:is )?(?:disabled|inactive)/,
  },
  {
    by: "qmail, Exim, Exchange, Domino, IMail, Google, Mimecast",
    category: "invalid_recipient",
    pattern:
      /no mailbox here by that name|this address no longer accepts mail|unrout(?:e)?able address|unknown (?:local[- ]?(?:part|user)|user|recipient|address)\b|resolver\.adr\.|recip(?:ient)?notfound|(?:address|recipient|account|mailbox|user)(?: name)? (?:not found|couldn't be found|could not be found|was not found|wasn't found|is not recognized|does not exist|doesn't exist)|wasn't found at|not listed in (?:public|domino)|invalid final delivery userid|address is possibly incorrect|ambiguous (?:recipient|address)|no valid recipients for this mm|e-?mail account (?:that you tried to reach )?does not exist|no such (?:user|mailbox|recipient)/,
  },
];

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

/** The same reasons in other languages: of reporters, and in the answers that they repeat. */
export const FOREIGN_PHRASES: Phrase[] = [
  {
    by: "Portuguese",
    category: "mailbox_full",
    pattern:
      /(?:caixa|quota|cota|espaco|armazenamento|limite) .{0,40}(?:chei[ao]|lotad[ao]|excedid[ao]|esgotad[ao]|ultrapassad[ao]|insuficiente)|excedeu .{0,30}(?:quota|cota|limite|espaco)|sem espaco/,
  },
  {
    by: "Spanish",
    category: "mailbox_full",
    pattern:
      /buzon .{0,30}(?:lleno|excedid|completo)|(?:cuota|espacio|limite) .{0,30}(?:excedid[ao]|superad[ao]|insuficiente|agotad[ao])|ha excedido .{0,30}cuota/,
  },
  {
    by: "French",
    category: "mailbox_full",
    pattern: /boite .{0,40}(?:pleine|saturee)|quota .{0,30}(?:depasse|atteint)|espace .{0,20}insuffisant/,
  },
  {
    by: "German",
    category: "mailbox_full",
    pattern:
      /postfach .{0,30}(?:voll|uberschritten|ausgeschopft)|speicherplatz .{0,30}(?:erschopft|uberschritten|voll)|kontingent .{0,20}uberschritten/,
  },
  {
    by: "Italian",
    category: "mailbox_full",
    pattern: /casella .{0,30}(?:piena|esaurita)|spazio .{0,20}(?:esaurito|insufficiente)|quota .{0,20}superata/,
  },
  {
    by: "Russian, Chinese, Japanese",
    category: "mailbox_full",
    pattern: /(?:ящик|квота) .{0,30}(?:переполнен|превышен)|邮箱已满|信箱已滿|容量を超/,
  },
  {
    by: "Portuguese, Spanish, French, German, Italian",
    category: "policy",
    pattern:
      /(?:bloquead|rejeitad|recusad|rechazad|proibid|prohibid|negad|denegad|refuse |rejete|interdit|abgelehnt|blockiert|gesperrt|rifiutat|bloccat)[a-z]{0,3}\b.{0,60}(?:politica|regra|seguranca|spam|lista|reputa|ip\b|remetente|servidor|seguridad|remitente|politique|richtlinie|absender|mittente)|(?:politica|regra|seguranca|reputacao|remetente|remitente|expediteur|absender|mittente) .{0,60}(?:bloquead|rejeitad|recusad|rechazad|refus|rejet|abgelehnt|blockiert|rifiutat|bloccat)/,
  },
  {
    by: "Portuguese, Spanish, French, German, Italian",
    category: "policy",
    pattern: /(?:dominio|domaine|domane) .{0,20}(?:remetente|remitente|expediteur|absender|mittente)/,
  },
  {
    by: "Portuguese",
    category: "bad_domain",
    pattern: /dominio .{0,60}(?:nao (?:foi )?(?:encontrado|existe|localizado)|inexistente|invalido|desconhecido)/,
  },
  {
    by: "Spanish",
    category: "bad_domain",
    pattern:
      /dominio .{0,60}(?:no (?:se )?(?:ha )?(?:encontr|existe|pudo encontrar)|desconocido)|no se (?:ha )?(?:encontro|encontrado|pudo encontrar) el dominio/,
  },
  { by: "French", category: "bad_domain", pattern: /domaine .{0,60}(?:introuvable|inconnu|n'existe pas|inexistant)/ },
  {
    by: "German, Italian",
    category: "bad_domain",
    pattern:
      /domane? .{0,60}(?:nicht gefunden|existiert nicht|unbekannt)|dominio .{0,40}(?:non trovato|inesistente|non esiste)/,
  },
  {
    by: "Portuguese",
    category: "inactive_mailbox",
    pattern:
      /(?:conta|caixa|usuario|utilizador|endereco|e-?mail) .{0,30}(?:desativad|desactivad|inativ|inactiv|suspens|bloquead|desabilitad|cancelad|encerrad)[a-z]{0,2}\b/,
  },
  {
    by: "Spanish",
    category: "inactive_mailbox",
    pattern:
      /(?:cuenta|buzon|usuario|direccion) .{0,30}(?:desactivad|inactiv|suspendid|bloquead|deshabilitad|cancelad)[a-z]{0,2}\b/,
  },
  {
    by: "French",
    category: "inactive_mailbox",
    pattern:
      /(?:compte|boite|adresse|utilisateur) .{0,30}(?:desactive|inactif|inactive|suspendu|bloque|cloture|ferme)e?\b/,
  },
  {
    by: "German, Italian",
    category: "inactive_mailbox",
    pattern:
      /(?:konto|postfach|benutzer|adresse) .{0,30}(?:deaktiviert|gesperrt|inaktiv|geschlossen)|(?:account|casella|utente|indirizzo) .{0,30}(?:disattivat|disabilitat|sospes|chius)[ao]/,
  },
  {
    by: "Portuguese",
    category: "invalid_recipient",
    pattern:
      /(?:usuario|utilizador|destinatario|endereco|caixa|conta|e-?mail) .{0,60}(?:desconhecid[ao]|inexistente|invalid[ao]|nao (?:foi )?(?:encontrad[ao]|existe|localizad[ao]|e valid[ao])|nao pode ser encontrad[ao])|nao (?:existe|foi encontrad[ao]|encontramos|foi possivel encontrar) .{0,30}(?:usuario|utilizador|destinatario|endereco|caixa|conta)/,
  },
  {
    by: "Spanish",
    category: "invalid_recipient",
    pattern:
      /(?:usuario|destinatario|direccion|buzon|cuenta|correo) .{0,60}(?:desconocid[ao]|inexistente|invalid[ao]|no (?:se )?(?:ha )?(?:encontr|existe|valid|pudo encontrar))|no (?:existe|se encontro|se ha encontrado|se pudo encontrar) .{0,30}(?:usuario|destinatario|direccion|buzon|cuenta)/,
  },
  {
    by: "French",
    category: "invalid_recipient",
    pattern:
      /(?:utilisateur|destinataire|adresse|boite|compte) .{0,60}(?:inconnue?|inexistante?|invalide|introuvable|n'existe (?:pas|plus)|n'a pas (?:pu etre|ete) trouvee?)/,
  },
  {
    by: "German",
    category: "invalid_recipient",
    pattern:
      /(?:benutzer|empfanger|adresse|postfach|konto|mailbox) .{0,60}(?:unbekannt|ungultig|existiert nicht|nicht (?:gefunden|bekannt|vorhanden|verfugbar))|unbekannte[rs]? (?:benutzer|empfanger|adresse)|kein (?:solcher )?(?:benutzer|postfach|empfanger)/,
  },
  {
    by: "Italian",
    category: "invalid_recipient",
    pattern:
      /(?:utente|destinatario|indirizzo|casella|account) .{0,60}(?:sconosciut[ao]|inesistente|non (?:valid|trovat|esist)[a-z]{0,2}\b)/,
  },
  {
    by: "Russian, Chinese",
    category: "invalid_recipient",
    pattern:
      /(?:пользователь|ящик|адрес|получатель) .{0,40}не (?:наиден|существует|зарегистрирован)|(?:用户|收件人|邮箱|地址|帐号)不存在|使用者不存在/,
  },
];
