import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { repeatedPart } from "../../support/canaries.ts";
import { inFolder } from "../../support/child_deno.ts";
import { linesOf } from "../../support/portless.ts";
import { importing, settingsEnvironment } from "../../support/sandbox_env.ts";
import { until } from "../../support/until.ts";
import { type CellResult, kernelTest, startKernel } from "./kernel.ts";

const REMOVED = { "text/plain": "", "text/html": "" };

function assertShowsSessionCard({ outputs, executionCount }: CellResult): void {
  const [card] = outputs;
  assertEquals([outputs.length, card?.output_type], [1, "execute_result"]);
  assertEquals(card?.execution_count, executionCount);
  const { "text/plain": text, "text/html": html, ...others } = card?.data ?? {};
  assertMatch(String(text), /^● Signed in as student at 127\.0\.0\.1 · as of .*\n/);
  assertStringIncludes(String(html), "Signed in as student at 127.0.0.1");
  assertEquals(others, {});
}

/** The card in an output whose line of progress was removed. */
function cardBelowProgress({ outputs }: CellResult): { text: string; html: string } {
  const [line, card] = outputs;
  assertEquals(outputs.map((each) => each.output_type), ["display_data", "execute_result"]);
  assertEquals(line?.data, REMOVED);
  return { text: String(card?.data?.["text/plain"]), html: String(card?.data?.["text/html"]) };
}

kernelTest("a notebook shows cards, progress and the log", (t) =>
  inFolder(async (folder) => {
    await using sandbox = await startSandbox({ clientSecret: crypto.randomUUID() });
    await using kernel = await startKernel({
      cwd: folder,
      env: settingsEnvironment(sandbox.settings),
    });
    const names =
      "authFetch, configure, doctor, download, downloadAll, fetchJson, login, refresh, status";
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
        assertShowsSessionCard(result);
        assertShowsNoSecret(result);
      }
    });

    const path = (id: string) => `/v1/stations/${id}/observations.csv`;

    await t.step("download() replaces its progress with a card", async () => {
      // This clock advances a second each time it is read, so that all progress is shown.
      await kernel.execute("let ticks = 0; configure({ monotonic: () => ticks += 1_000 });");
      const download = `await download("${path("gull-harbor")}", "data.csv")`;
      assertMatch(
        cardBelowProgress(await kernel.execute(download)).text,
        /^● data\.csv · saved, \d{3}\.\d kB in (under 1|\d+) s\n {2}type: text\/csv/,
      );
      const quiet = download.replace('data.csv"', 'more.csv", { onProgress: () => {} }');
      assertEquals((await kernel.execute(quiet)).outputs.length, 1);
    });

    await t.step("downloadAll() replaces its progress with a card", async () => {
      const items = ["gull-harbor", "mill-plain", "nowhere"]
        .map((id) => [path(id), `data/${id}.csv`]);
      const many = await kernel.execute(`await downloadAll(${JSON.stringify(items)})`);
      const { text, html } = cardBelowProgress(many);
      assertMatch(text, /^◐ 2 files saved, 1 failed · \d{3}\.\d kB in /);
      assertMatch(html, /2 files saved, 1 failed.*nowhere/s);
    });

    await t.step("a line announces the pause before a retry, then disappears", async () => {
      // A prompt replaces the pause, so that the test sees what the cell shows during it.
      await kernel.execute(`configure({ sleep: () => Promise.resolve(prompt("paused")) });`);
      sandbox.failures.push({ at: "api", status: 503, headers: { "retry-after": "5" }, times: 1 });
      const paused: string[] = [];
      const { outputs } = await kernel.execute(`(await fetchJson("/v1/stations")).length`, {
        onInput: async (_, __, outputs) => {
          await until(() => outputs.length > 0);
          paused.push(JSON.stringify(outputs));
          return "";
        },
      });
      assertEquals(paused.length, 1);
      assertMatch(paused[0] ?? "", /Trying again in 5 s \(the API responded with 503\)/);
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
