// Builds the pombo that script/install-check updates to, into the folder that it names.
import { buildNext } from "../scenarios/next-build.ts";

const [folder = "."] = process.argv.slice(2);
console.log(await buildNext(folder));
