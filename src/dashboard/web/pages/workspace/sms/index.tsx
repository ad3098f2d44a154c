// The pages of SMS, by their addresses.

import { useLocation } from "../../../kit.ts";
import { SmsList } from "./list.tsx";
import { SmsMessage } from "./message.tsx";
import { ReceivedSms } from "./received.tsx";

/** /dashboard/w/:workspace/sms/ID or /received */
export function SmsPages() {
  const [id = ""] = useLocation().path.split("/").slice(5);
  if (id === "received") return <ReceivedSms />;
  return id === "" ? <SmsList /> : <SmsMessage key={id} id={id} />;
}
