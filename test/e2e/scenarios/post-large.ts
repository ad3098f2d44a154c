// Posts emails with a large file each, as a process of its own: what it costs to make and send them is not the test's.
//
// Run by large-posts.test.ts: bun post-large.ts URL KEY DOMAIN FILE_BYTES FIRST COUNT together|one-by-one

import { randomBytes } from "node:crypto";

const [url, key, domain, bytes, first, count, how] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
  string,
  "together" | "one-by-one",
];

async function post(number: number): Promise<number> {
  const content = randomBytes(Number(bytes)).toString("base64");
  const email = {
    from: `a@${domain}`,
    to: `a@n${number}.test`,
    subject: `Large ${number}`,
    text: "Bom dia",
    attachments: [{ filename: "film.bin", content }],
  };
  const answer = await fetch(`${url}/api/v1/emails`, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify(email),
  });
  await answer.text();
  return answer.status;
}

const numbers = Array.from({ length: Number(count) }, (_, index) => Number(first) + index);
const statuses: number[] = [];
if (how === "together") statuses.push(...(await Promise.all(numbers.map(post))));
else for (const number of numbers) statuses.push(await post(number));
console.log(JSON.stringify(statuses));
