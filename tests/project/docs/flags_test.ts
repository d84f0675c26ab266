import { assert, assertEquals, assertMatch } from "@std/assert";
import { inCliWorld } from "../../support/cli_world.ts";
import { COMMANDS } from "../../../src/cli/commands.ts";
import {
  COMMAND_FLAGS,
  denoConfig,
  DOCUMENTS,
  documentText,
  filledIn,
  SCRIPT_FLAGS,
  scriptFlagsIn,
} from "../../support/documented_flags.ts";

Deno.test("the documents agree on the flags of a script", () => {
  const [whole, memory, ...more] = SCRIPT_FLAGS.map((flags) => flags.join(" "));
  assert(whole && memory && more.length === 0);
  assertEquals(scriptFlagsIn("README.md").map((flags) => flags.join(" ")), [whole]);
  for (const path of DOCUMENTS) {
    for (const flags of scriptFlagsIn(path)) {
      assert([whole, memory].includes(flags.join(" ")), `${path}: ${flags.join(" ")}`);
    }
  }
});

Deno.test("every flag in a document is used by a test", () => {
  const known = new Set([
    ...[...COMMAND_FLAGS.values(), ...SCRIPT_FLAGS].flat(),
    // Named without a value in text, and with one of the reader's in messages.
    ...["read", "write", "net", "env", "run"].map((name) => `--allow-${name}`),
    // Tested in tests/session/cluster with another program.
    "--allow-run=ssh",
    // Tested in tests/platform.
    "--allow-run=git",
    // Tested in tests/project/release.
    "--allow-import=<host>",
  ]);
  for (const path of DOCUMENTS) {
    for (const [flag] of documentText(path).matchAll(/--allow-[a-z]+(=[^\s`]+)?/g)) {
      assert(known.has(flag), `${path} names ${flag}`);
    }
  }
});

Deno.test("doctor prints the documented flags, with the reader's own hosts", () =>
  inCliWorld(async ({ sandbox, run, variables, folder }) => {
    const hosts = { provider: new URL(sandbox.authUrl).host, api: new URL(sandbox.apiUrl).host };
    const [whole = [], memory = []] = SCRIPT_FLAGS.map((flags) => filledIn(flags, hosts).join(" "));
    assertMatch((await run(["doctor"])).stdout, new RegExp(`permissions: ${whole}$`, "m"));
    await Deno.remove(`${folder}/.env`);
    const env = { ...variables, AUTH_ENV_FILE: "false" };
    const { stdout } = await run(["doctor"], { env });
    assertMatch(stdout, new RegExp(`permissions: ${memory}$`, "m"));
  }));

Deno.test("every command has documented flags, and sandbox those of its task", () => {
  assertEquals([...COMMAND_FLAGS.keys()].sort(), Object.keys(COMMANDS).sort());
  const task = (denoConfig().tasks["sandbox"] ?? "").split(" ").filter((word) =>
    word.startsWith("--allow-")
  );
  assertEquals(task.sort(), COMMAND_FLAGS.get("sandbox")?.toSorted());
});

for (const command of COMMAND_FLAGS.keys()) {
  if (command === "sandbox") continue;
  Deno.test(`${command} works with its documented flags, and reports each missing one`, () =>
    inCliWorld(async ({ run, flagsOf, envFile, folder, signIn }) => {
      const args = command === "fetch" ? ["fetch", "/v1/stations"] : [command];
      // A token that ended, so that each command needs all that it may need.
      await signIn();
      const over = new Date(Date.now() - 60_000).toISOString();
      const ended = (await Deno.readTextFile(envFile))
        .replace(/(ACCESS_TOKEN_EXPIRES_AT=).*/, `$1${over}`);
      const prepare = async () => {
        await Deno.writeTextFile(envFile, ended);
        await Deno.remove(`${folder}/notebook.ipynb`).catch(() => {});
      };
      await prepare();
      const { code, stdout, stderr } = await run(args);
      assertEquals([code, stderr], [0, ""]);
      // Nothing is said to be missing; only the doctor tells the flags all the same.
      assertEquals(stdout.includes("--allow-"), ["doctor", "init"].includes(command), stdout);
      for (const flag of flagsOf(command)) {
        await prepare();
        const flags = flagsOf(command).filter((each) => each !== flag);
        const without = await run(args, { flags });
        const name = flag.replace(/=.*/, "");
        assertMatch(without.stdout + without.stderr, new RegExp(`${name}\\b`), `without ${flag}`);
      }
    }));
}
