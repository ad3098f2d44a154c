/**
 * The meaning of words in bounces in other languages than English: of reporters, and in the answers
 * that they repeat. On plain text (charset.ts): lower case, no accents, which some write out in
 * letters (`empfaenger`). The first that matches decides, and what must never suppress stands first.
 *
 * No words of Japanese carriers are here: they say "unknown" of addresses that only filter us.
 */
import type { Phrase } from "./phrases.ts";

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
    by: "Dutch, Polish, Swedish",
    category: "mailbox_full",
    pattern:
      /(?:postbus|mailbox|postvak) .{0,30}(?:\bvol\b|overschreden)|skrzynk[aię] .{0,30}(?:pelna|przepelnion|przekroczon)|przekroczon.{0,30}(?:limit|pojemnosc|quota)|(?:brevlada|postlada) .{0,20}full/,
  },
  {
    by: "Russian, Chinese, Japanese",
    category: "mailbox_full",
    pattern:
      /(?:ящик|квота) .{0,30}(?:переполнен|превышен)|邮箱(?:已满|空间不足|容量不足)|信箱已滿|容量を超|容量制限|(?:いっぱい|満杯)/,
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
    by: "German, Italian, Russian, Chinese",
    category: "bad_domain",
    pattern:
      /domane? .{0,60}(?:nicht gefunden|existiert nicht|unbekannt)|dominio .{0,40}(?:non trovato|inesistente|non esiste)|домен .{0,40}не (?:наиден|существует)|(?:域名|域)(?:不存在|错误)/,
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
      /(?:cuenta|buzon|casilla|usuario|direccion) .{0,30}(?:desactivad|inactiv|suspendid|bloquead|deshabilitad|cancelad|ha expirado)[a-z]{0,2}\b/,
  },
  {
    by: "French",
    category: "inactive_mailbox",
    pattern:
      /(?:compte|boite|adresse|utilisateur) .{0,30}(?:desactive|inactif|inactive|suspendu|bloque|cloture|ferme)e?\b/,
  },
  {
    by: "German, Italian, Polish, Russian",
    category: "inactive_mailbox",
    pattern:
      /(?:konto|postfach|benutzer|adresse) .{0,30}(?:deaktiviert|gesperrt|inaktiv|geschlossen)|(?:account|casella|utente|indirizzo) .{0,30}(?:disattivat[ao]|disabilitat[ao]|sospes[ao]|chius[ao]|per inutilizzo)|konto .{0,30}(?:zablokowane|nieaktywne|zawieszone)|(?:ящик|аккаунт|учетная запись) .{0,30}(?:заблокирован|отключен|неактивен)/,
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
      /(?:utilisateur|destinataire|adresse|boite|compte)\b.{0,60}(?:inconnue?|inexistante?|invalide|introuvable|n'existe (?:pas|plus)|n'est (?:pas|plus) valide|incorrecte?|errone|non repertorie|n'a pas (?:pu etre|ete) trouvee?)/,
  },
  {
    by: "German",
    category: "invalid_recipient",
    pattern:
      /(?:benutzer|empf(?:a|ae)nger|adressat|adresse|postfach|konto|mailbox)\b.{0,60}(?:unbekannt|ung(?:u|ue)ltig|existiert nicht|nicht (?:gefunden|bekannt|vorhanden|verfugbar))|unbekannte[rs]? (?:benutzer|empf(?:a|ae)nger|adresse)|kein (?:solcher )?(?:benutzer|postfach|empf(?:a|ae)nger)/,
  },
  {
    by: "Italian",
    category: "invalid_recipient",
    pattern:
      /(?:utente|destinatario|destin\.|indirizzo|casella|account) .{0,60}(?:sconosciut[ao]|inesistente|errato|non (?:(?:e |e' )?stato )?(?:valid|trovat|esist)[a-z]{0,2}\b)/,
  },
  {
    by: "Dutch, Swedish, Danish, Norwegian",
    category: "invalid_recipient",
    pattern:
      /(?:gebruiker|ontvanger|adres|postbus|postvak)\b.{0,60}(?:onbekend|bestaat niet|ongeldig|niet (?:gevonden|bekend))|onbekende (?:gebruiker|ontvanger)|(?:mottagaren?|adressen?|anvandaren?|modtageren?|brugeren?|mottakeren?|brukeren?)\b.{0,40}(?:finns inte|hittades inte|findes ikke|blev ikke fundet|finnes ikke|ble ikke funnet|okand|ukendt|ukjent)|(?:okand|ukendt|ukjent) (?:anvandare|mottagare|bruger|modtager|bruker|mottaker)/,
  },
  {
    by: "Polish, Czech, Hungarian, Turkish",
    category: "invalid_recipient",
    pattern:
      /(?:odbiorca|uzytkownik|uzytkownika|adres|adresu|adresat|konto|konta|skrzynka)\b.{0,60}(?:nie istnieje|nieznan[ya]|nie (?:zostal |zostala )?znalezion[aoy]|nieprawidlow[ay])|nie (?:ma|znaleziono) (?:takiego )?(?:konta|uzytkownika|adresu|odbiorcy)|^nie istnieje|neznamy (?:uzivatel|prijemce)|(?:uzivatel|prijemce|schranka) .{0,20}neexistuje|(?:cimzett|felhasznalo|cim) .{0,30}(?:ismeretlen|nem (?:letezik|talalhato))|(?:kullanici|alici|adres) .{0,20}(?:bulunamadi|mevcut degil|yok\b)/,
  },
  {
    by: "Russian, Chinese, Japanese, Korean",
    category: "invalid_recipient",
    // Of Japanese only what Google and Microsoft write.
    pattern:
      /(?:пользователь|пользователя|ящик|адрес|получатель) .{0,40}не (?:наиден|существует|зарегистрирован)|(?:用户|收件人|邮箱|地址|帐号|账号|信箱)[^ ]{0,6}不存在|使用者不存在|找不到(?:地址|收件人|电子邮件)|アドレス(?:は|が)見つかりません|(?:사용자|수신자|주소|계정)[^ ]{0,4} ?(?:존재하지 않|찾을 수 없)/,
  },
];
