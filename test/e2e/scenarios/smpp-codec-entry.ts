// Compiled and run by smpp-codec.test.ts: says which cases hold in a compiled binary, and why others do not.
import { CASES } from "../../support/smpp/codec-cases.ts";

const results: Record<string, string> = {};
for (const [name, run] of Object.entries(CASES)) {
  try {
    await run();
    results[name] = "holds";
  } catch (error) {
    results[name] = String(error);
  }
}
console.log(JSON.stringify(results));
process.exit(0);
