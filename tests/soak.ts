/**
 * Runs the long tests, `deno task soak`: far more cases than in the usual tests, and different ones
 * each time. `SEED=7` repeats the run with that seed, `SOAK=0.1` runs a tenth.
 */
import { fileURLToPath } from "node:url";

const TESTS = [
  "tests/project/bench_test.ts",
  "tests/notebook/browser/nbconvert_test.ts",
  "tests/settings/env_text_test.ts",
  "tests/provider/random_answers_test.ts",
  "tests/session/processes/processes_test.ts",
  "tests/session/interleavings_test.ts",
];

const chance = String(crypto.getRandomValues(new Uint32Array(1))[0]);
const { SEED = chance, SOAK = "1" } = Deno.env.toObject();
if (!/^\d+$/.test(SEED) || !(Number(SOAK) > 0)) {
  console.error("Cannot run: SEED is a whole number, SOAK a number above 0; SEED=7 deno task soak");
  Deno.exit(2);
}
console.log(`SEED=${SEED} SOAK=${SOAK}`);
const { code } = await new Deno.Command(Deno.execPath(), {
  args: ["test", "-A", "--no-check", `--seed=${SEED}`, ...TESTS],
  cwd: fileURLToPath(new URL("../", import.meta.url)),
  env: { SOAK },
}).spawn().status;
Deno.exit(code);
