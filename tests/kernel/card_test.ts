import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { repeatedPart } from "../support/canaries.ts";
import { linesOf } from "../support/portless.ts";
import { importing, settingsEnvironment } from "../support/sandbox_env.ts";
import { type CellResult, startKernel } from "./kernel.ts";

Deno.test("status() and login() show as HTML and as text in their own cell, 20 times", async () => {
  await using sandbox = await startSandbox({ clientSecret: crypto.randomUUID() });
  const folder = await Deno.makeTempDir();
  try {
    const env = settingsEnvironment(sandbox.settings);
    await using kernel = await startKernel({ cwd: folder, env });
    const shown: string[] = [];
    await kernel.execute(importing("login, status"));
    for (let run = 1; run <= 20; run++) {
      const one = await kernel.execute(`await login({ force: ${run % 2 === 0} })`);
      const two = await kernel.execute("status()");
      for (const result of [one, two]) shown.push(cardIn(result));
    }
    const { ACCESS_TOKEN = "", REFRESH_TOKEN = "" } = linesOf(`${folder}/.env`);
    assert(ACCESS_TOKEN !== "" && REFRESH_TOKEN !== "");
    const { password, clientSecret } = sandbox.settings;
    const secrets = [ACCESS_TOKEN, REFRESH_TOKEN, password, clientSecret];
    assertEquals(repeatedPart(shown.join("\n"), secrets), undefined);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** The one output of a cell: a card. */
function cardIn(result: CellResult): string {
  assertEquals(result.outputs.length, 1, JSON.stringify(result));
  const output = result.outputs[0];
  if (output?.output_type !== "execute_result") throw new Error(JSON.stringify(output));
  assertEquals(output.execution_count, result.executionCount);
  assertEquals(Object.keys(output.data).sort(), ["text/html", "text/plain"]);
  assertMatch(String(output.data["text/plain"]), /^● Signed in as student at 127\.0\.0\.1\n/);
  assertStringIncludes(String(output.data["text/html"]), "Signed in as student at 127.0.0.1");
  return JSON.stringify(output);
}

Deno.test("a download shows one line, which is updated in place, and then its card", async () => {
  await using sandbox = await startSandbox();
  const folder = await Deno.makeTempDir();
  try {
    await using kernel = await startKernel({
      cwd: folder,
      env: settingsEnvironment(sandbox.settings),
    });
    // By this clock a second passes at each look, so that every piece is shown.
    const setup = `${importing("configure, download, login")}
      let ticks = 0;
      configure({ monotonic: () => ticks += 1_000 });
      await login();`;
    await kernel.execute(setup);
    const path = "/v1/stations/gull-harbor/observations.csv";
    const result = await kernel.execute(`await download("${path}", "data.csv")`);
    const [line, card] = result.outputs;
    assertEquals(result.outputs.length, 2, JSON.stringify(result));
    if (line?.output_type !== "display_data") throw new Error(JSON.stringify(line));
    if (card?.output_type !== "execute_result") throw new Error(JSON.stringify(card));
    // The last update: the bar is gone, what came of it stays.
    assertMatch(String(line.data["text/plain"]), /^data\.csv {2}\d{3}\.\d kB in (under 1|\d+) s$/);
    assertMatch(
      String(card.data["text/plain"]),
      /^● data\.csv: \d{3}\.\d kB in (under 1|\d+) s · text\/csv/,
    );
    const quiet = `await download("${path}", "more.csv", { onProgress: () => {} })`;
    assertEquals((await kernel.execute(quiet)).outputs.length, 1);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("many downloads show one line, which is updated in place, and then one card", async () => {
  await using sandbox = await startSandbox();
  const folder = await Deno.makeTempDir();
  try {
    await using kernel = await startKernel({
      cwd: folder,
      env: settingsEnvironment(sandbox.settings),
    });
    // By this clock a second passes at each look, so that every piece is shown.
    await kernel.execute(`${importing("configure, downloadAll, login")}
      let ticks = 0;
      configure({ monotonic: () => ticks += 1_000 });
      await login();`);
    const { outputs } = await kernel.execute(`await downloadAll(
      ["gull-harbor", "mill-plain", "nowhere"]
        .map((id) => [\`/v1/stations/\${id}/observations.csv\`, \`data/\${id}.csv\`]),
    )`);
    const [line, card] = outputs;
    assertEquals(outputs.length, 2, JSON.stringify(outputs));
    if (line?.output_type !== "display_data") throw new Error(JSON.stringify(line));
    if (card?.output_type !== "execute_result") throw new Error(JSON.stringify(card));
    assertMatch(String(line.data["text/plain"]), /^files {2}3 files, \d{3}\.\d kB in \d+ /);
    assertMatch(String(card.data["text/plain"]), /^! 2 files saved, 1 failed · \d{3}\.\d kB in /);
    assertMatch(String(card.data["text/html"]), /2 files saved, 1 failed.*nowhere/s);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a long pause shows one line under its cell, which is gone when it is over", async () => {
  await using sandbox = await startSandbox();
  const folder = await Deno.makeTempDir();
  try {
    await using kernel = await startKernel({
      cwd: folder,
      env: settingsEnvironment(sandbox.settings),
    });
    // A question in place of the pause: what is on the screen meanwhile can be looked at.
    await kernel.execute(`${importing("configure, fetchJson, login")}
      configure({ sleep: () => Promise.resolve(prompt("paused")) });
      await login();`);
    sandbox.failures.push({ at: "api", status: 503, headers: { "retry-after": "5" }, times: 1 });
    const seen: string[] = [];
    const result = await kernel.execute(`(await fetchJson("/v1/stations")).length`, {
      onInput: async (_, __, outputs) => {
        while (outputs.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
        seen.push(JSON.stringify(outputs));
        return "";
      },
    });
    assertMatch(seen.join(), /Trying again in 5 s \(the API answered 503\)/);
    assertEquals(seen.length, 1);
    const [line, value] = result.outputs;
    assertEquals([line && "data" in line && line.data, value?.output_type], [{}, "execute_result"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
