import { assert, assertEquals, assertMatch } from "@std/assert";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { repeatedPart } from "../../support/canaries.ts";
import { inFolder } from "../../support/child_deno.ts";
import { linesOf } from "../../support/portless.ts";
import { importing, settingsEnvironment } from "../../support/sandbox_env.ts";
import { until } from "../../support/until.ts";
import { type CellResult, kernelTest, type Output, startKernel } from "./kernel.ts";

const REMOVED = { "text/plain": "", "text/html": "" };

const textOf = (output: Output | undefined): string => String(output?.data?.["text/plain"]);

const file = (id: string) => `/v1/stations/${id}/observations.csv`;
const FILES = ["gull-harbor", "mill-plain", "nowhere"].map((id) => [file(id), `data/${id}.csv`]);

const DOWNLOADS: [cell: string, card: RegExp][] = [
  [
    `await download("${file("gull-harbor")}", "data.csv")`,
    /^● data\.csv · saved, \d{3}\.\d kB in (under 1|\d+) s\n {2}type: text\/csv/,
  ],
  [
    `await downloadAll(${JSON.stringify(FILES)})`,
    /^◐ 2 files saved, 1 failed · \d{3}\.\d kB in .*nowhere/s,
  ],
];

kernelTest("a notebook shows cards, progress and the log", (t) =>
  inFolder(async (folder) => {
    await using sandbox = await startSandbox({ clientSecret: crypto.randomUUID() });
    await using kernel = await startKernel({
      cwd: folder,
      env: settingsEnvironment(sandbox.settings),
    });
    const names = "authFetch, configure, download, downloadAll, fetchJson, login, refresh, status";
    await kernel.execute(importing(names));

    const assertShowsNoSecret = (...results: CellResult[]) => {
      const { ACCESS_TOKEN = "", REFRESH_TOKEN = "" } = linesOf(`${folder}/.env`);
      assert(ACCESS_TOKEN !== "" && REFRESH_TOKEN !== "");
      const { password, clientSecret } = sandbox.settings;
      const secrets = [ACCESS_TOKEN, REFRESH_TOKEN, password, clientSecret];
      assertEquals(repeatedPart(JSON.stringify(results), secrets), undefined);
    };

    await t.step("login() and status() show a card without a secret", async () => {
      for (const cell of ["await login()", "await login({ force: true })", "status()"]) {
        const result = await kernel.execute(cell);
        const [card, ...others] = result.outputs;
        assertEquals([card?.output_type, others.length], ["execute_result", 0]);
        assertEquals(Object.keys(card?.data ?? {}).sort(), ["text/html", "text/plain"]);
        assertMatch(textOf(card), /^● Signed in as student at 127\.0\.0\.1 · as of .*\n/);
        assertShowsNoSecret(result);
      }
    });

    await t.step("a card replaces the progress of a download", async () => {
      // This clock advances a second each time it is read, so that all progress is shown.
      await kernel.execute("let ticks = 0; configure({ monotonic: () => ticks += 1_000 });");
      for (const [cell, card] of DOWNLOADS) {
        const { outputs } = await kernel.execute(cell);
        assertEquals(outputs.map((each) => each.output_type), ["display_data", "execute_result"]);
        assertEquals(outputs[0]?.data, REMOVED);
        assertMatch(textOf(outputs[1]), card);
      }
      const quiet = `await download("/v1/stations", "more.json", { onProgress: () => {} })`;
      assertEquals((await kernel.execute(quiet)).outputs.length, 1);
    });

    await t.step("a line announces the pause before a retry, then disappears", async () => {
      // A prompt replaces the pause, so that the test sees what the cell shows during it.
      await kernel.execute(`configure({ sleep: () => Promise.resolve(prompt("paused")) });`);
      sandbox.failures.push({ at: "api", status: 503, headers: { "retry-after": "5" }, times: 1 });
      const { inputs, outputs } = await kernel.execute(`(await fetchJson("/v1/stations")).length`, {
        onInput: async (_, __, outputs) => {
          const line = /Trying again in 5 s \(the API responded with 503\)/;
          await until(() => line.test(textOf(outputs[0])));
          return "";
        },
      });
      assertEquals(inputs.length, 1);
      assertEquals([outputs[0]?.data, outputs[1]?.output_type], [REMOVED, "execute_result"]);
    });

    await t.step("the log appears below the cell once AUTH_LOG is set", async () => {
      const turnOn = await kernel.execute(
        `configure({}); Deno.env.set("AUTH_LOG", "1"); await login();`,
      );
      const call = await kernel.execute(
        `await refresh(); (await authFetch("/v1/stations?near=me")).status`,
      );
      const linesIn = ({ outputs }: CellResult) =>
        outputs.filter(({ name }) => name === "stderr")
          .flatMap(({ text = "" }) => text.trim().split("\n"));
      assertEquals(linesIn(turnOn).map((line) => line.split(" ")[2]), ["settings", "login"]);
      const lines = linesIn(call);
      assertEquals(lines.length, 3, lines.join("\n"));
      assertMatch(lines[0] ?? "", / request to=provider flow=refresh .* status=200 /);
      assertMatch(lines[1] ?? "", / refresh reason=forced outcome=refreshed /);
      assertMatch(lines[2] ?? "", / request to=api .*\/v1\/stations status=200 /);
      assertShowsNoSecret(turnOn, call);
    });
  }));
