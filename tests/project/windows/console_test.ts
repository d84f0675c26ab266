/** `deno task windows` types from Linux into a console of Windows, as other tests also do then. */
import { assertEquals } from "@std/assert";
import { namesIn } from "../../support/child_deno.ts";
import { childEnvironment, inCliWorld } from "../../support/cli_world.ts";
import { testNeeding } from "../../support/needs.ts";
import { writeEnv } from "../../support/sandbox_env.ts";
import { IN_A_CONSOLE, inTerminal, ON_WINDOWS } from "../../support/terminal.ts";

const lack = ON_WINDOWS ? undefined : {
  reason: "only on Linux, with Wine: deno task windows",
  installable: false,
};

testNeeding(
  lack,
  `Ctrl-C cancels a prompt before anything is sent${IN_A_CONSOLE}`,
  () =>
    inCliWorld(async ({ sandbox, folder, variables, commandLine }) => {
      const { USERNAME: _, PASSWORD: __, ...others } = variables;
      await writeEnv(folder, others);
      const options = { cwd: folder, env: childEnvironment() };
      const dialog: [string, string][] = [["(host set in .env):", "x\x03"]];
      const seen = await inTerminal(commandLine(["login", "--username", "ada"]), dialog, options);
      assertEquals([seen.left, sandbox.requests.length], [0, 0]);
      assertEquals(seen.screen.includes("Signed in"), false);
      assertEquals(namesIn(folder), [".env"]);
    }),
);
