import { assert, assertEquals, assertMatch } from "@std/assert";
import { inFolder, neededVariables, runScript } from "../support/child_deno.ts";
import { inTerminal, ON_WINDOWS, terminalTest, TYPED_MOD_PATH } from "../support/terminal.ts";

/** A session whose provider and API are busy at first; no pause takes any time but on its clock. */
function script(providerWaits: readonly number[], apiWaits: readonly number[]): string {
  return `
    import { createSession } from ${JSON.stringify(TYPED_MOD_PATH)};
    Math.random = () => 0;
    let ticks = 0;
    const busy = (seconds) =>
      new Response("{}", { status: 503, headers: { "retry-after": String(seconds) } });
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
  "a long pause is one line of a terminal, which is gone when it is over",
  () =>
    inFolder(async (cwd) => {
      await Deno.writeTextFile(`${cwd}/script.ts`, script([3], [5, 7]));
      const command = [Deno.execPath(), "run", "-A", "--no-lock", "--no-check", "-q", "script.ts"];
      const { screen: raw, code } = await inTerminal(command, [], { cwd, env: neededVariables() });
      const screen = raw.replaceAll("\r\u001b[K", "«");
      assertEquals(code, 0, screen);
      const pauses = [...screen.matchAll(/Trying again in (\d+) s \(([^)]+)\)/g)];
      assertEquals(pauses.map(([, seconds]) => seconds), ["3", "5", "7"]);
      assertMatch(pauses[0]?.[2] ?? "", /^status 503/);
      assertEquals(pauses[1]?.[2], "the API responded with 503");
      for (const [line] of pauses) assert(line.length < 80, line);
      // A console of Windows draws only what changes of a line, and has the module in another place.
      if (ON_WINDOWS) return;
      assertMatch(screen, /^(«[^«\r\n]+«)+the end\r\n$/);
      const piped = await runScript(script([3], [5, 7]), { cwd, flags: ["-A", "--no-check"] });
      assertEquals([piped.stdout, piped.stderr], ["the end\n", ""]);
    }),
);

terminalTest("a pause of less than two seconds is not mentioned", () =>
  inFolder(async (cwd) => {
    await Deno.writeTextFile(`${cwd}/script.ts`, script([1], [1]));
    const command = [Deno.execPath(), "run", "-A", "--no-lock", "--no-check", "-q", "script.ts"];
    const { screen } = await inTerminal(command, [], { cwd, env: neededVariables() });
    assertEquals(screen, "the end\r\n");
  }));

terminalTest(
  "a short pause after a long one is not mentioned, if data arrived in between",
  () =>
    inFolder(async (cwd) => {
      const script = `
      import { createSession } from ${JSON.stringify(TYPED_MOD_PATH)};
      Math.random = () => 0;
      let ticks = 0;
      const offline = () => { throw new TypeError("error sending request for url (x)"); };
      const busy = () => new Response("", { status: 503, headers: { "retry-after": "3" } });
      let pulled = 0;
      const cut = () => new Response(new ReadableStream({
        pull: (it) => pulled++ > 0 ? it.error(new TypeError("broke")) : it.enqueue(new Uint8Array(2)),
      }), { headers: { "content-length": "4", etag: '"a"' } });
      const rest = () => new Response("cd", {
        status: 206,
        headers: { "content-range": "bytes 2-3/4", etag: '"a"' },
      });
      const answers = [busy, () => new Response("ab"), offline, () => new Response("cd")];
      answers.push(busy, cut, offline, rest);
      const session = createSession({
        apiBaseUrl: "https://api.example", envFile: false,
        monotonic: () => ticks,
        sleep: (ms) => { ticks += ms; return Promise.resolve(); },
        fetch: async () => answers.shift()(),
      });
      await session.login({ portalToken: "bearer a-token-of-the-portal" });
      const options = { concurrency: 1, onProgress() {} };
      const { counts, failed } = await session.downloadAll([["/1", "1"], ["/2", "2"]], options);
      const { bytes } = await session.download("/3", "3", { onProgress() {} });
      console.log([counts.saved, failed.length, bytes, answers.length].join());`;
      await Deno.writeTextFile(`${cwd}/script.ts`, script);
      const command = [Deno.execPath(), "run", "-A", "--no-lock", "--no-check", "-q", "script.ts"];
      const { screen } = await inTerminal(command, [], { cwd, env: neededVariables() });
      const pauses = [...screen.matchAll(/Trying again in (.*?) \(([^)]+)\)/g)];
      assertEquals(pauses.map(([, time, why]) => `${time}: ${why}`), [
        "3 s: the API responded with 503",
        "3 s: the API responded with 503",
      ], screen);
      assertMatch(screen, /2,0,4,0\r\n$/);
    }),
);
