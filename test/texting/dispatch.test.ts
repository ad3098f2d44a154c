import { expect, test } from "bun:test";
import { startTexting } from "./world.ts";

test("a text goes out, is answered, and its receipt makes it delivered", async () => {
  await using world = await startTexting();
  const id = await world.text();
  const message = await world.until(id, ({ status }) => status === "delivered");
  expect(message).toMatchObject({ deliveryState: "delivered", providerStatus: "DELIVRD", possibleDuplicate: false });
  expect(message.sentAt).toBeString();
  expect(world.instance.bugs).toEqual([]);
});
