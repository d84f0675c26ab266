import { assert, assertEquals, assertMatch } from "@std/assert";
import { inFolder, neededVariables, runScript } from "../support/child_deno.ts";
import { inTerminal, ON_WINDOWS, terminalTest, TYPED_MOD_PATH } from "../support/terminal.ts";

/** A session whose provider and API are busy at first. Only its own clock advances in a pause. */
function script(providerWaits: readonly number[], apiWaits: readonly number[]): string {
  return `
    import { createSession } from ${JSON.stringify(TYPED_MOD_PATH)};
    Math.random = () => 0;
    let ticks = 0;
    const message = JSON.stringify({ __type: "Busy", message: "a long message ".repeat(9) });
    const busy = (seconds) =>
      new Response(message, { status: 503, headers: { "retry-after": String(seconds) } });
    const waits = { provider: ${JSON.stringify(providerWaits)}, api: ${JSON.stringify(apiWaits)} };
    const session = createSession({
      authUrl: "https://provider.example", apiBaseUrl: "https://api.example", clientId: "c",
      clientSecret: "", userPoolId: "pool_A", username: "ada", password: "secret", envFile: false,
      monotonic: () => ticks,
      sleep: (ms) => { ticks += ms; return Promise.resolve(); },
      fetch: (url) => {
        const isProvider = String(url).startsWith("https://provider");
        const seconds = waits[isProvider ? "provider" : "api"].shift();
        if (seconds !== undefined) return Promise.resolve(busy(seconds));
        const tokens = { AccessToken: "opaque", ExpiresIn: 9e8 };
        return Promise.resolve(Response.json(isProvider ? { AuthenticationResult: tokens } : []));
      },
    });
    await session.login();
    await session.fetchJson("/v1/stations");
    console.log("the end");`;
}

terminalTest(
  "a terminal shows a pause of two seconds or more in one line, then removes it",
  () =>
    inFolder(async (cwd) => {
      await Deno.writeTextFile(`${cwd}/script.ts`, script([1, 2], [5, 7]));
      const command = [Deno.execPath(), "run", "-A", "--no-lock", "--no-check", "-q", "script.ts"];
      const { screen: raw, code } = await inTerminal(command, [], { cwd, env: neededVariables() });
      const screen = raw.replaceAll("\r\u001b[K", "«");
      assertEquals(code, 0, screen);
      const pauses = [...screen.matchAll(/Trying again in (\d+) s \(([^)]+)\)/g)];
      assertEquals(pauses.map(([, seconds]) => seconds), ["2", "5", "7"]);
      assertMatch(pauses[0]?.[2] ?? "", /^status 503, .{36}…$/, "48 characters");
      assertEquals(pauses[1]?.[2], "the API responded with 503");
      for (const [line] of pauses) assert(line.length < 80, line);
      // A Windows console redraws only the changed part of a line, and the module has another path.
      if (ON_WINDOWS) return;
      assertMatch(screen, /^(«[^«\r\n]+«)+the end\r\n$/);
      const piped = await runScript(script([1, 2], [5, 7]), { cwd, flags: ["-A", "--no-check"] });
      assertEquals([piped.stdout, piped.stderr], ["the end\n", ""]);
    }),
);
