// Sends the messages of a file with nodemailer, on Node: what it says of one that is refused goes to the error output.

import { readFileSync } from "node:fs";
import { createTransport } from "nodemailer";

const { SMTP_HOST, SMTP_PORT, SMTP_TLS, SMTP_CA, SMTP_USER, SMTP_PASSWORD } = process.env;
const transport = createTransport({
  host: SMTP_HOST,
  port: Number(SMTP_PORT),
  secure: SMTP_TLS === "implicit",
  requireTLS: SMTP_TLS === "starttls",
  auth: { user: SMTP_USER, pass: SMTP_PASSWORD },
  tls: { ca: readFileSync(SMTP_CA ?? "") },
});

for (const message of JSON.parse(readFileSync(process.argv[2] ?? "", "utf8"))) {
  const { key, attachments, ...fields } = message;
  try {
    const { response } = await transport.sendMail({ ...fields, attachments, headers: { "X-Sample": key } });
    console.log(`sent ${key}: ${response}`);
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
