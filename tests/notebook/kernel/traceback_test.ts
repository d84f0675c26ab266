import { assertEquals, assertMatch } from "@std/assert";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { inFolder } from "../../support/child_deno.ts";
import { importing, settingsEnvironment } from "../../support/sandbox_env.ts";
import { type CellResult, kernelTest, startKernel } from "./kernel.ts";

const REFUSAL = JSON.stringify({
  __type: "NotAuthorizedException",
  message: "Refresh Token has been revoked",
});

/** The lines that a cell shows of its error. */
function linesOf({ status, traceback }: CellResult): string[] {
  assertEquals(status, "error");
  return (traceback ?? []).flatMap((line) => line.split("\n"));
}

/** The stack below the message. Asserts that it contains only frames of the cell. */
function framesOf(result: CellResult): string[] {
  const lines = linesOf(result);
  const frames = lines.slice(lines.findIndex((line) => line.startsWith("    at ")));
  for (const frame of frames) {
    assertMatch(frame, /^ {4}at (async )?(\w+ \(<anonymous>:\d+:\d+\)|<anonymous>:\d+:\d+)$/);
  }
  return frames;
}

kernelTest(
  "the error for missing settings recommends the notebook's first cell",
  () =>
    inFolder(async (cwd) => {
      await using kernel = await startKernel({ cwd });
      await kernel.execute(importing("accessToken, authFetch, login"));
      const messages = async () => {
        const cells = [
          "await accessToken()",
          `await login({ strategy: "environment" })`,
          `await authFetch("/v1/stations")`,
        ];
        const results = [];
        for (const cell of cells) results.push(await kernel.execute(cell));
        return results.map(({ evalue = "" }) => evalue);
      };
      const FIRST_CELL = /; run the first cell of this notebook; for your own account/;
      for (const message of await messages()) {
        assertMatch(message, FIRST_CELL);
        assertMatch(message, /platform-auth init, or platform-auth init --global/);
        assertMatch(message, /platform-auth explain \w+/);
      }
      // Without the command, it names a page of the docs.
      await kernel.execute(`Deno.env.set("PATH", "/nowhere")`);
      for (const message of await messages()) {
        assertMatch(message, FIRST_CELL);
        assertMatch(message, /docs\/settings\.md.*docs\/troubleshooting\.md/);
        assertEquals(/platform-auth (init|explain)/.test(message), false, message);
      }
    }),
);

kernelTest(
  "a failed cell shows the error and only the cell's own lines",
  () =>
    inFolder(async (cwd) => {
      await using sandbox = await startSandbox();
      await using kernel = await startKernel({ cwd, env: settingsEnvironment(sandbox.settings) });
      const names = "authFetch, configure, fetchJson, login, parsePortalToken, refresh";
      await kernel.execute(importing(names));

      const noSession = await kernel.execute(`await authFetch("/v1/stations")`);
      assertEquals(noSession.ename, "SessionExpiredError");
      assertMatch(
        noSession.evalue ?? "",
        /^There is no session; run login\(\) first \(help: platform-auth explain NO_SESSION\)$/,
      );
      assertEquals(linesOf(noSession).slice(0, -1), [
        "SessionExpiredError: There is no session",
        "→ run login() first",
        "  (help: platform-auth explain NO_SESSION)",
      ]);
      assertEquals(framesOf(noSession).length, 1);

      await kernel.execute("await login()");
      sandbox.failures.push({ at: "token", status: 400, body: REFUSAL, times: 9 });
      const refused = await kernel.execute(`async function load() {
        return await refresh();
      }
      const rows = await load().then((status) => status.state);`);
      assertMatch(
        refused.evalue ?? "",
        /^Cannot refresh .*help: platform-auth explain REFRESH_REJECTED/,
      );
      const [line] = framesOf(refused);
      assertMatch(line ?? "", /at (async )?load \(/);
      assertEquals(sandbox.failures.length, 1, "the sandbox refused it");

      const failing: [string, string][] = [
        [`await login({ username: "student", password: "wrong" })`, "ProviderError"],
        [`await login({ portalToken: "a b" })`, "ConfigError"],
        [`parsePortalToken("a b")`, "ConfigError"],
        [`configure({ clientid: "x" })`, "TypeError"],
        [`await authFetch("https://elsewhere.example/")`, "ConfigError"],
        [`await authFetch("/v1/stations", "POST")`, "TypeError"],
        [`await fetchJson("/v1/nothing")`, "ApiError"],
        [`await authFetch("http://127.0.0.1:1/v1/x")`, "TypeError"],
      ];
      const { origin } = new URL(sandbox.apiUrl);
      await kernel.execute(`configure({ allowedOrigins: "http://127.0.0.1:1" }); await login()`);
      for (const [cell, name] of failing) {
        const result = await kernel.execute(cell);
        assertEquals([result.ename, framesOf(result).length], [name, 1], cell);
        const lines = linesOf(result);
        // A front end breaks longer lines within words, and turns each address into a link.
        assertEquals(lines.filter((line) => line.length > 60), [], cell);
        assertEquals(lines.filter((line) => /https?:\S*(:|[<>…])( |$)/.test(line)), [], cell);
        assertEquals(
          lines.some((line) => line.startsWith("→ ")),
          result.evalue?.includes("; "),
          cell,
        );
      }
      const missing = await kernel.execute(`await fetchJson("/v1/nothing")`);
      assertEquals(
        linesOf(missing).slice(0, 4).join("\n"),
        `ApiError: Cannot GET ${origin}/v1/nothing
because the API responded with 404 (There is no resource at
GET /v1/nothing)
→ check the path`,
      );
    }),
);
