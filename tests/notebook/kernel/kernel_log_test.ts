import { assertEquals, assertMatch } from "@std/assert";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { repeatedPart } from "../../support/canaries.ts";
import { inFolder } from "../../support/child_deno.ts";
import { linesOf } from "../../support/portless.ts";
import { importing, settingsEnvironment } from "../../support/sandbox_env.ts";
import { kernelTest, startKernel } from "./kernel.ts";

kernelTest(
  "the log appears under the cell, from the next login or status after it is turned on",
  () =>
    inFolder(async (cwd) => {
      await using sandbox = await startSandbox({ clientSecret: crypto.randomUUID() });
      await using kernel = await startKernel({ cwd, env: settingsEnvironment(sandbox.settings) });
      await kernel.execute(importing("authFetch, login, refresh"));
      assertEquals((await kernel.execute("(await login()).state")).outputs.length, 1);
      const turnOn = await kernel.execute(`Deno.env.set("AUTH_LOG", "debug"); await login();`);
      const call = await kernel.execute(
        `await refresh(); (await authFetch("/v1/stations?near=me")).status`,
      );
      const linesIn = (outputs: typeof call.outputs) =>
        outputs.flatMap((output) => {
          if (output.output_type !== "stream") return [];
          assertEquals(output.name, "stderr");
          return [output.text].flat().join("").trim().split("\n");
        });
      assertEquals(linesIn(turnOn.outputs).map((line) => line.split(/ +/)[1]), [
        "settings",
        "login",
      ]);
      const lines = linesIn(call.outputs);
      assertEquals(lines.length, 3, lines.join("\n"));
      assertMatch(lines[0] ?? "", /^platform-auth: request +POST .* \(refresh\) 200 in /);
      assertMatch(lines[1] ?? "", /^platform-auth: refresh +forced: refreshed in /);
      assertMatch(lines[2] ?? "", /^platform-auth: request +GET .*\/v1\/stations 200 in /);
      const { ACCESS_TOKEN = "", REFRESH_TOKEN = "" } = linesOf(`${cwd}/.env`);
      const { password, clientSecret } = sandbox.settings;
      const secrets = [ACCESS_TOKEN, REFRESH_TOKEN, password, clientSecret];
      assertEquals(repeatedPart(JSON.stringify([turnOn, call]), secrets), undefined);
    }),
);
