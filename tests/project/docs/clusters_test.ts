import { assertEquals } from "@std/assert";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { inFolder, MOD_URL, namesIn, runScript } from "../../support/child_deno.ts";
import { codeBlocks } from "../../support/documented_flags.ts";
import { withUrls } from "../../support/examples.ts";
import { NO_SHELL, testNeeding } from "../../support/needs.ts";

/** Prints the token in a file, as `ssh … platform-auth token` does. */
const SSH =
  '#!/bin/sh\ntest "$*" = "-o BatchMode=yes login-node platform-auth token" && cat token\n';

testNeeding(
  NO_SHELL,
  "the recipe that gets the token from a command works with its documented permissions",
  () =>
    inFolder(async (cwd) => {
      const [, recipe = ""] = codeBlocks("docs/clusters.md", "The option `token`");
      await using sandbox = await startSandbox();
      await Deno.writeTextFile(`${cwd}/ssh`, SSH, { mode: 0o700 });
      await Deno.writeTextFile(`${cwd}/token`, await sandbox.portalToken());
      const script = `${withUrls(recipe).replace("https://api.example.com", sandbox.apiUrl)}
      import { fetchJson } from ${JSON.stringify(MOD_URL)};
      console.log((await fetchJson("/v1/whoami")).username, Deno.env.get("ACCESS_TOKEN"));`;
      const env = { PATH: `${cwd}:${Deno.env.get("PATH")}`, NO_PROXY: "127.0.0.1" };
      const flags = [
        "--allow-run=ssh",
        "--allow-env",
        `--allow-net=${new URL(sandbox.apiUrl).host}`,
      ];
      const { stdout, stderr } = await runScript(script, { cwd, flags, env });
      assertEquals([stdout, stderr], ["student undefined\n", ""]);
      assertEquals(namesIn(cwd), ["ssh", "token"]);
    }),
);
