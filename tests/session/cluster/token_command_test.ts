import { assert, assertEquals, assertMatch } from "@std/assert";
import { createSession } from "../../../mod.ts";
import { inFolder, MOD_URL, namesIn, runScript } from "../../support/child_deno.ts";
import { isFile } from "../../support/needs.ts";
import { portless, rejection, statusOf } from "../../support/portless.ts";
import { jwt } from "../../support/answers.ts";
import { until } from "../../support/until.ts";
import { commandLine, counted, printing, scriptCommand } from "../../support/token_command.ts";

/** Removes the word `bearer` from a portal string. */
const bare = (text: string) => text.replace("bearer ", "");

Deno.test("a token command runs once for all callers, and again before its token expires", () =>
  inFolder(async (folder) => {
    await using world = portless();
    const { command, print, runs } = counted(folder);
    const session = world.another({ tokenCommand: command });
    assertEquals([session.status().state, session.status().canRefresh, runs()], ["none", true, 0]);
    print(bare(await world.sandbox.portalToken()));
    const call = () => statusOf(session.authFetch("/v1/whoami"));
    assertEquals(await Promise.all([call(), call(), call()]), [200, 200, 200]);
    assertEquals([await call(), runs()], [200, 1]);
    const { state, source, canRefresh, envFile, warnings } = session.status();
    assertEquals([state, source, canRefresh, envFile], ["valid", "command", true, undefined]);
    assertEquals(warnings, []);

    world.clock.advance(1_790);
    // The command prints the same token, which is still valid, so it does not run for each call.
    assertEquals([await call(), await call(), runs()], [200, 200, 2]);
    world.clock.advance(3_000);
    assertEquals(session.status().state, "refreshable");
    const access_token = bare(await world.sandbox.portalToken());
    const expires_at = new Date(world.clock.now() + 1_800_000).toISOString();
    print(JSON.stringify({ access_token, expires_at }));
    assertEquals(await Promise.all([call(), call()]), [200, 200]);
    assertEquals([runs(), session.status().accessTokenExpiresAt?.toISOString()], [3, expires_at]);
    assertEquals([world.logins(), world.refreshes()], [0, 0]);
  }));

Deno.test("the expires_in that a token command prints takes precedence over the token's claims", async () => {
  await using world = portless();
  const access_token = jwt({ exp: world.clock.now() / 1_000 + 9_000 });
  const printed = JSON.stringify({ access_token, expires_in: 600, token_type: "bearer" });
  const session = world.another({ tokenCommand: printing(printed) });
  assertEquals(await session.accessToken(), access_token);
  const end = session.status().accessTokenExpiresAt?.getTime() ?? 0;
  assert(Math.abs(end - world.clock.now() - 600_000) < 1_000);
});

Deno.test("after a 401, the session runs the token command again, once for each token", () =>
  inFolder(async (folder) => {
    await using world = portless();
    const { command, print, runs } = counted(folder);
    const session = world.another({ tokenCommand: command });
    const call = () => statusOf(session.authFetch("/v1/whoami"));
    print(bare(await world.sandbox.portalToken()));
    assertEquals(await call(), 200);
    world.sandbox.expireAccessTokens();
    assertEquals([await call(), await call(), runs()], [401, 401, 2]);
    world.clock.advance(31);
    print(bare(await world.sandbox.portalToken()));
    // For this token, a call has already run the command, but login() runs it again.
    assertEquals((await session.login()).state, "valid");
    assertEquals([await call(), runs()], [200, 3]);
  }));

Deno.test("no token command runs between logout() and the next login()", () =>
  inFolder(async (folder) => {
    await using world = portless();
    const { command, print, runs } = counted(folder);
    const session = world.another({ tokenCommand: command, envFile: `${folder}/.env` });
    print(bare(await world.sandbox.portalToken()));
    assertEquals([(await session.login()).state, runs()], ["valid", 1]);
    assertEquals([(await session.login()).state, runs()], ["valid", 1]);
    await session.refresh();
    await session.login({ force: true });
    assertEquals(runs(), 3);
    for (const options of [{ username: "ada" }, { portalToken: "bearer a.b.c" }]) {
      const error = await rejection(session.login(options));
      assertEquals(error.code, "INVALID_SETTING");
      assertMatch(error.message, /tokens come from that command; log in where/);
    }
    const { state, canRefresh } = await session.logout();
    assertEquals([state, canRefresh], ["none", false]);
    const { code, message } = await rejection(session.accessToken());
    assertEquals(code, "NO_SESSION");
    assertMatch(message, /^There is no session: logout\(\) ended it; run login\(\) \(help/);
    assertEquals(runs(), 3);
    await session.login();
    assertEquals([runs(), world.sent.length], [4, 0]);
    assertEquals(namesIn(folder), ["printed", "runs"], "nothing is stored");
  }));

async function listens(port: number): Promise<boolean> {
  try {
    using _ = await Deno.connect({ hostname: "127.0.0.1", port });
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.ConnectionRefused) return false;
    throw error;
  }
}

for (const by of ["the deadline", "an abort"]) {
  Deno.test(`a token command that hangs is killed by ${by}`, () =>
    inFolder(async (folder) => {
      await using world = portless();
      // The command listens on a port, writes the port into a file, and runs forever.
      const portFile = `${folder}/port`;
      const hanging = scriptCommand(
        "const { addr } = Deno.listen({ hostname: '127.0.0.1', port: 0 });" +
          "Deno.writeTextFileSync(Deno.args[0], `${addr.port}`); setInterval(() => {}, 1e6);",
        portFile,
      );
      const timeoutMs = by === "an abort" ? 600_000 : 1_500;
      const session = world.another({ tokenCommand: hanging, timeoutMs });
      const leave = new AbortController();
      const error = rejection(session.accessToken({ signal: leave.signal }));
      // The file may exist for a moment before it contains the port.
      const portText = () => isFile(portFile) ? Deno.readTextFileSync(portFile) : "";
      if (by === "an abort") {
        await until(() => portText() !== "");
        leave.abort();
      }
      const { name, code } = await error as Error & { code?: unknown };
      if (by === "an abort") assertEquals(name, "AbortError");
      else assertEquals(code, "TIMEOUT");
      // On a busy machine, the deadline may end before the command listens.
      const port = Number(portText());
      // Windows ends a process a little later.
      await until(async () => port === 0 || !await listens(port));
    }));
}

Deno.test("a token command or a store in a .env is not used, and status() warns about it", () =>
  inFolder(async (folder) => {
    const envFile = `${folder}/.env`;
    const line = commandLine(printing("a".repeat(30)));
    const lines = [`AUTH_TOKEN_COMMAND=${JSON.stringify(line)}`, "AUTH_STORE=redis://127.0.0.1:1"];
    Deno.writeTextFileSync(envFile, lines.map((each) => `${each}\n`).join(""));
    const session = createSession({ envFile });
    assertEquals((await rejection(session.accessToken())).code, "NO_SESSION");
    assertMatch(session.status().warnings.join(), /AUTH_TOKEN_COMMAND in the .env is not used/);
    assertMatch(session.status().warnings.join(), /AUTH_STORE in the .env is not used/);
  }));

const DEFAULT = `
  import { accessToken, doctor, status } from ${JSON.stringify(MOD_URL)};
  const outcome = await accessToken().then((token) => token.length, (error) => error.message);
  const { checks } = await doctor();
  const found = (name) => checks.find((check) => check.name === name);
  console.log(JSON.stringify([outcome, Deno.env.get("ACCESS_TOKEN"), status().settings, found("token command"),
    found("permissions")]));`;

Deno.test("the default session uses the token command in the environment, if permitted", () =>
  inFolder(async (folder) => {
    const token = jwt({ exp: 4e9 });
    const [program = "", ...args] = printing(token);
    const env = { AUTH_TOKEN_COMMAND: commandLine([program, ...args]) };
    const flags = ["--allow-env", "--allow-read=.", "--allow-net=127.0.0.1"];
    const run = async (more: string[]) =>
      JSON.parse(
        (await runScript(DEFAULT, { cwd: folder, env, flags: [...flags, ...more] })).stdout,
      );
    const [length, mirrored, settings, check] = await run([`--allow-run=${program}`]);
    assertEquals([length, mirrored], [token.length, null]);
    assertEquals(settings, { AUTH_TOKEN_COMMAND: "environment" });
    assertEquals(check.level, "ok");
    assertMatch(check.message, /prints a token valid for \d+ days/);
    const [message, , , refused, permissions] = await run([]);
    assert(message.startsWith(`Cannot get a token from ${program}: --allow-run=${program} is`));
    assertMatch(message, /run: deno run .*--allow-run=\S+ script.ts/);
    assertEquals([refused.level, permissions.level], ["fail", "warn"]);
    assertMatch(permissions.message, /^missing .*--allow-run=/);
  }));

const NESTED_COMMAND = [Deno.execPath(), "run", "-A", "--quiet", "--no-lock", "nested.ts"];
/** A worker that is its own token command. Each run sets the variable again, as a shell profile does. */
const NESTED = `
  import { accessToken } from ${JSON.stringify(MOD_URL)};
  Deno.writeTextFileSync("runs", "x", { append: true });
  const isLast = Deno.readTextFileSync("runs").length > 9;
  if (!isLast) Deno.env.set("AUTH_TOKEN_COMMAND", ${JSON.stringify(commandLine(NESTED_COMMAND))});
  console.log(await accessToken());`;

Deno.test("a token command that runs itself is run at most three times", () =>
  inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/nested.ts`, NESTED);
    const env = { AUTH_ENV_FILE: "false" };
    const { code, stderr } = await runScript(NESTED, { cwd: folder, env, flags: ["-A"] });
    assertEquals([code, Deno.readTextFileSync(`${folder}/runs`).length], [1, 1 + 3]);
    assertMatch(stderr, /ended with status 1 and printed: /);
  }));
