import { content as ptPtContent, settings as ptPt } from "../pt-pt/settings.ts";
import type { Messages } from "../translation.ts";

export const settings: Messages["settings"] = {
  ...ptPt,
  title: "Configurações",
  nameHint: "Os membros o veem, e os convites o mencionam.",
  emailsPerDay: "E-mails por dia",
  emailsPerMonth: "E-mails por mês",
  sendersText: "Nomes e números de onde os SMS podem vir. O operador deste servidor os registra nas redes.",
  senderDefault: "Padrão",
  remove: "Excluir o espaço de trabalho",
  removeText:
    "Só o operador deste servidor pode excluir um espaço de trabalho, com todas as mensagens, chaves e membros. Peça a ele e informe este id:",
};

export const content: Messages["content"] = {
  ...ptPtContent,
  operatorsHint: "O registro de auditoria diz o que eles leram.",
  text: "Proprietários, administradores e membros sempre veem. Os assuntos e os endereços são visíveis para todos aqui.",
};
