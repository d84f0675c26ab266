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

Deno.test("every flag in the documents is used in a test", () => {
  const known = new Set([
    ...[...COMMAND_FLAGS.values(), ...SCRIPT_FLAGS].flat(),
    // Text and messages mention these flags without a value.
    ...["read", "write", "net", "env", "run"].map((name) => `--allow-${name}`),
    // Tested in tests/project/docs/clusters_test.ts.
    "--allow-run=ssh",
    // Tested in tests/settings.
    "--allow-sys=uid",
    // Tested in tests/settings/secret_file_test.ts, with another folder.
    "--allow-read=/run/secrets",
    // Tested in tests/project/release.
    "--allow-import=<host>",
  ]);
  for (const path of DOCUMENTS) {
    for (const [flag] of documentText(path).matchAll(/--allow-[a-z]+(=[^\s`]+)?/g)) {
      assert(known.has(flag), `${path} names ${flag}`);
    }
  }
});

Deno.test("without a .env, doctor prints the documented flags for it", () =>
  inCliWorld(async ({ sandbox, run, variables, folder }) => {
    await Deno.remove(`${folder}/.env`);
    const { stdout } = await run(["doctor"], { env: { ...variables, AUTH_ENV_FILE: "false" } });
    const hosts = { provider: new URL(sandbox.authUrl).host, api: new URL(sandbox.apiUrl).host };
    const flags = filledIn(SCRIPT_FLAGS[1] ?? [], hosts).join(" ");
    assertMatch(stdout, new RegExp(`permissions: ${flags}$`, "m"));
  }));

Deno.test("every command has documented flags", () => {
  assertEquals([...COMMAND_FLAGS.keys()].sort(), Object.keys(COMMANDS).sort());
  const task = (denoConfig().tasks["sandbox"] ?? "").split(" ").filter((word) =>
    word.startsWith("--allow-")
  );
  assertEquals(task.sort(), COMMAND_FLAGS.get("sandbox")?.toSorted());
});

/** Names of the permissions that a command asked for, as Deno's own audit log records them. */
async function usedPermissions(log: string): Promise<string[]> {
  const lines = (await Deno.readTextFile(log).catch(() => "")).split("\n").filter(Boolean);
  return [...new Set(lines.map((line): string => JSON.parse(line).permission))].sort();
}

/** With an expired token, each command uses every permission that it may need. */
async function expireToken(envFile: string): Promise<void> {
  const past = new Date(Date.now() - 60_000).toISOString();
  const text = await Deno.readTextFile(envFile);
  await Deno.writeTextFile(envFile, text.replace(/(ACCESS_TOKEN_EXPIRES_AT=).*/, `$1${past}`));
}

const wordsOf = (command: string) => command === "fetch" ? ["fetch", "/v1/stations"] : [command];

for (const command of COMMAND_FLAGS.keys()) {
  if (command === "sandbox") continue;
  Deno.test(`the command ${command} runs with its documented Deno flags and needs each of them`, () =>
    inCliWorld(async ({ run, flagsOf, envFile, folder, signIn }) => {
      await signIn();
      await expireToken(envFile);
      const log = `${folder}/audit.log`;
      const { code, stdout, stderr } = await run(wordsOf(command), {
        env: { DENO_AUDIT_PERMISSIONS: log },
      });
      assertEquals([code, stderr], [0, ""]);
      // No command reports a missing flag; doctor and init print flags in any case.
      assertEquals(stdout.includes("--allow-"), ["doctor", "init"].includes(command), stdout);
      const documented = flagsOf(command).map((flag) => /--allow-(\w+)/.exec(flag)?.[1] ?? "");
      assertEquals(await usedPermissions(log), documented.sort());
    }));
}
