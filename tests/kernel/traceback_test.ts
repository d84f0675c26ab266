import { assertEquals, assertMatch } from "@std/assert";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { importing, settingsEnvironment } from "../support/sandbox_env.ts";
import { type CellResult, startKernel } from "./kernel.ts";

const REFUSAL = JSON.stringify({
  __type: "NotAuthorizedException",
  message: "Refresh Token has been revoked",
});

/** The lines below the error's name and message: frames of the cell, and of nothing else. */
function framesOf({ status, ename, evalue, traceback }: CellResult): string[] {
  assertEquals(status, "error");
  const [head, ...frames] = (traceback ?? []).flatMap((line) => line.split("\n"));
  assertEquals(head, `${ename}: ${evalue}`);
  for (const frame of frames) {
    assertMatch(frame, /^ {4}at (async )?(\w+ \(<anonymous>:\d+:\d+\)|<anonymous>:\d+:\d+)$/);
  }
  return frames;
}

Deno.test("a cell that fails shows name, code and sentence, and the cell's own lines", async () => {
  await using sandbox = await startSandbox();
  const cwd = await Deno.makeTempDir();
  try {
    await using kernel = await startKernel({ cwd, env: settingsEnvironment(sandbox.settings) });
    const names = "authFetch, configure, login, parsePortalToken, refresh";
    await kernel.execute(importing(names));

    const noSession = await kernel.execute(`await authFetch("/v1/stations")`);
    assertEquals(noSession.ename, "SessionExpiredError");
    assertMatch(
      noSession.evalue ?? "",
      /^There is no session; run login\(\) first \(help: platform-auth explain NO_SESSION\)$/,
    );
    assertEquals(framesOf(noSession).length, 1);

    await kernel.execute("await login()");
    sandbox.failures.push({ at: "token", status: 400, body: REFUSAL, times: 9 });
    const refused = await kernel.execute(`async function load() {
        return await refresh();
      }
      const rows = await load().then((status) => status.state);`);
    assertMatch(refused.evalue ?? "", /^Cannot refresh .*explain REFRESH_REJECTED\)$/);
    const [line] = framesOf(refused);
    assertMatch(line ?? "", /at (async )?load \(/);
    assertEquals(sandbox.failures.length, 1, "it was refused by the sandbox");

    const failing: [string, string][] = [
      [`await login({ username: "student", password: "wrong" })`, "ProviderError"],
      [`await login({ portalToken: "a b" })`, "ConfigError"],
      [`parsePortalToken("a b")`, "ConfigError"],
      [`configure({ clientid: "x" })`, "TypeError"],
      [`await authFetch("https://elsewhere.example/")`, "ConfigError"],
      [`await authFetch("/v1/stations", "POST")`, "TypeError"],
    ];
    for (const [cell, name] of failing) {
      const result = await kernel.execute(cell);
      assertEquals([result.ename, framesOf(result).length], [name, 1], cell);
    }
  } finally {
    await Deno.remove(cwd, { recursive: true });
  }
});
