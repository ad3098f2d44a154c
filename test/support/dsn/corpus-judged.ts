/**
 * Where the corpus's labels are not what the mails say: whether each suppresses, by the notice's own words
 * and codes, and why. The labeller calls an unknown user "filtered" (soft) wherever the notice does not
 * tell the command, and takes a word about any host for one about the recipient's. A few of these mails
 * are of the same public set and not of our part of it: the parser was measured on them once.
 */
export const JUDGED: Record<string, [suppresses: boolean, why: string]> = {
  "lhost-activehunter-02.eml": [true, "550 User unknown in local recipient table"],
  "lhost-apachejames-01.eml": [true, "550 unknown user, and no command"],
  "lhost-exchange2003-04.eml": [true, "Recipient Not Found: Exchange's own directory"],
  "lhost-mailfoundry-01.eml": [true, "550 No such user here, and no command"],
  "lhost-mcafee-04.eml": [true, "550 No such user, and no command"],
  "lhost-mcafee-05.eml": [true, "550 No such user, and no command"],
  "lhost-messagingserver-03.eml": [
    true,
    "550 User Unknown, and 'remote server has rejected address': an answer to RCPT",
  ],
  "lhost-messagingserver-06.eml": [true, "550 5.2.1 User Unknown, and 'remote server has rejected address'"],
  "lhost-mfilter-04.eml": [true, "550 5.4.1 Access denied of Outlook's edge: the address is not in the directory"],
  "lhost-mxlogic-03.eml": [true, "550 unknown user, and no command"],
  "lhost-surfcontrol-01.eml": [true, "550 No such user, and no command"],
  "lhost-sendmail-27.eml": [true, "550 User unknown, and DATA was answered 503 'Need RCPT': an answer to RCPT"],
  "rfc3464-42.eml": [true, "'The email account that you tried to reach does not exist', under 5.0.0"],
  "lhost-exim-30.eml": [false, "554 5.7.1 Access denied says nothing of the user"],
  "lhost-exim-31.eml": [
    false,
    "'may not exist, may be blacklisted, or missing DNS entries': the reporter does not know",
  ],
  "lhost-exim-37.eml": [false, "553 'does not exist', after the content, of the sender's own host"],
  "lhost-opensmtpd-12.eml": [false, "Action: delayed; the reporter goes on trying"],
  "lhost-postfix-05.eml": [false, "450 4.1.1: refused for now (R38)"],
  "rhost-aol-06.eml": [false, "'unexpected name server reply' says nothing of the domain"],
};
