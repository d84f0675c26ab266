/**
 * The command line in separate processes: the output, the exit status and the prompts of each
 * command.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { repeatedPart } from "../support/canaries.ts";
import type { ChildResult } from "../support/child_deno.ts";
import { type CliWorld, inCliWorld } from "../support/cli_world.ts";
import { runQuietly, testNeeding } from "../support/needs.ts";
import { linesOf } from "../support/portless.ts";
import { writeEnv } from "../support/sandbox_env.ts";

/** Nothing but the `token` command prints a secret. */
function assertHides({ stdout, stderr }: ChildResult, { variables, envFile }: CliWorld): void {
  const lines = linesOf(envFile);
  const secrets = [
    ...[variables.APP_CLIENT_SECRET, variables.PASSWORD],
    ...[lines.ACCESS_TOKEN, lines.REFRESH_TOKEN],
  ].filter((text) => text !== undefined).map((text) => text.replace(/^eyJ[\w-]+\./, ""));
  assertEquals(repeatedPart(stdout + stderr, secrets), undefined);
}

Deno.test("login, status, refresh and logout do what they say, and show no secret", () =>
  inCliWorld(async (world) => {
    const { run, envFile, sandbox } = world;
    const results: ChildResult[] = [];
    const step = async (...args: string[]) => {
      const result = await run(args);
      results.push(result);
      assertHides(result, world);
      assertEquals(result.stderr, "");
      return result;
    };
    const jsonOf = async (...args: string[]) => JSON.parse((await step(...args, "--json")).stdout);
    assertEquals((await step("status")).code, 3);
    const login = await step("login");
    assertMatch(
      login.stdout,
      /^● Signed in as student at 127\.0\.0\.1 .*\n {2}access token: valid for /,
    );
    const first = linesOf(envFile).ACCESS_TOKEN;
    assertMatch((await step("status")).stdout, /kept in \.env/);
    const { state, warnings, ...status } = await jsonOf("status");
    assertEquals([state, status.envFile, warnings], ["valid", envFile, []]);
    assertEquals((await step("login")).code, 0);
    assertEquals(sandbox.requests.length, 1);
    await step("login", "--force");
    assertEquals(sandbox.requests.map(({ authFlow }) => authFlow), [
      "USER_PASSWORD_AUTH",
      "USER_PASSWORD_AUTH",
    ]);
    assertEquals((await jsonOf("refresh")).state, "valid");
    assertEquals(sandbox.requests.at(-1)?.authFlow, "REFRESH_TOKEN_AUTH");
    assert(linesOf(envFile).ACCESS_TOKEN !== first);
    assertEquals((await jsonOf("doctor")).ok, true);
    assertMatch(
      (await step("logout")).stdout,
      /^Signed out\n○ Not signed in.*; also at the provider$/ms,
    );
    assertEquals(linesOf(envFile), world.variables);
    assertEquals(results.map(({ code }) => code), [3, 0, 0, 0, 0, 0, 0, 0, 0]);
  }));

Deno.test("the options of logout decide what is sent to the provider", () =>
  inCliWorld(async ({ run, sandbox, signIn }) => {
    const cases: [string[], RegExp, string[]][] = [
      [[], /; also at the provider$/m, ["RevokeToken"]],
      [["--everywhere"], /; also at the provider, on all devices$/m, ["GlobalSignOut"]],
      [["--keep-remote"], /hold no tokens any more$/m, []],
    ];
    for (const [options, note, wanted] of cases) {
      await signIn();
      const before = sandbox.requests.length;
      const { code, stdout } = await run(["logout", ...options]);
      assertEquals(code, 0);
      assertMatch(stdout, note);
      assertEquals(sandbox.requests.slice(before).map(({ operation }) => operation), wanted);
    }
  }));

Deno.test("token prints the token and nothing else, or JSON for a token command, refreshed", () =>
  inCliWorld(async ({ run, envFile, sandbox, signIn }) => {
    await signIn();
    const printed = async (...options: string[]) => {
      const { code, stdout, stderr } = await run(["token", ...options]);
      assertEquals([code, stderr], [0, ""]);
      // No diff of tokens, which would show them.
      assert(stdout === `${linesOf(envFile).ACCESS_TOKEN}\n`);
      return stdout;
    };
    const first = await printed();
    const { ACCESS_TOKEN: access_token, ACCESS_TOKEN_EXPIRES_AT: expires_at } = linesOf(envFile);
    const json = JSON.parse((await run(["token", "--json"])).stdout);
    assertEquals(json, { access_token, expires_at });
    const expireIn = async (seconds: number) => {
      const text = await Deno.readTextFile(envFile);
      const end = new Date(Date.now() + seconds * 1_000).toISOString();
      const edited = text.replace(/(ACCESS_TOKEN_EXPIRES_AT=).*/, `$1${end}`);
      assert(edited !== text);
      await Deno.writeTextFile(envFile, edited);
    };
    await expireIn(900);
    assert(await printed("--min-valid", "600") === first);
    assertEquals(sandbox.requests.length, 1);
    assert(await printed("--min-valid", "1200") !== first);
    await expireIn(-60);
    await printed();
    assertEquals(sandbox.requests.map(({ status }) => status), [200, 200, 200]);
  }));

Deno.test("store-key prints a key that a store takes, another one each time", () =>
  inCliWorld(async ({ run }) => {
    const [one, other] = await Promise.all([run(["store-key"]), run(["store-key"])]);
    assertMatch(one.stdout, /^[\w-]{43}\n$/);
    assert(one.stdout !== other.stdout);
    const env = {
      AUTH_STORE: "redis://127.0.0.1:1",
      AUTH_STORE_KEY: one.stdout.trim(),
      // That long it would try.
      AUTH_TIMEOUT_MS: "1000",
    };
    const { code, stderr } = await run(["token"], { env, flags: ["-A"] });
    assertEquals([code, stderr.includes("explain STORE_UNREACHABLE")], [1, true], stderr);
  }));

/** The names of the events in lines of the log. */
function eventsIn(lines: string): string[] {
  return [...lines.matchAll(/^platform-auth: (\w+) +\S.*\n/gm)].map(([, name = ""]) => name);
}

Deno.test("--verbose, before or after the command, changes nothing on standard output", () =>
  inCliWorld(async (world) => {
    const { envFile, flagsOf, run, signIn } = world;
    await signIn();
    const signedIn = await Deno.readTextFile(envFile);
    const over = new Date(Date.now() - 60_000).toISOString();
    const ended = signedIn.replace(/(ACCESS_TOKEN_EXPIRES_AT=).*/, `$1${over}`);
    const calls: [args: string[], env: string, events: string[]][] = [
      [["fetch", "/v1/stations"], ended, ["settings", "request", "refresh", "request"]],
      [["fetch", "/v1/nowhere", "--json"], signedIn, ["settings", "request"]],
      [["explain", "404"], signedIn, []],
    ];
    for (const [args, env, events] of calls) {
      const flags = flagsOf(args[0] ?? "");
      const runWith = async (...given: string[]) => {
        await Deno.writeTextFile(envFile, env);
        const result = await run(given, { flags });
        const stdout = result.stdout.replace(/"date": ".*"/, "");
        return { ...result, stdout };
      };
      const plain = await runWith(...args);
      assertEquals(eventsIn(plain.stderr), [], args.join(" "));
      for (const given of [["--verbose", ...args], [...args, "--verbose"]]) {
        const { code, stdout, stderr } = await runWith(...given);
        assert(code === plain.code && stdout === plain.stdout, given.join(" "));
        assertEquals(eventsIn(stderr), events);
        // After the lines of the log, the error is the same.
        assert(stderr.endsWith(plain.stderr));
        assertHides({ code, stdout: "", stderr }, world);
      }
    }
  }));

Deno.test("warnings go to standard error, apart from the token or the response", () =>
  inCliWorld(async ({ run, flagsOf, signIn }) => {
    await signIn();
    for (const args of [["token"], ["fetch", "/v1/stations"]]) {
      const flags = flagsOf(args[0] ?? "").filter((flag) => flag !== "--allow-env");
      const { code, stdout, stderr } = await run(args, { flags });
      assertEquals([code, stdout.includes("warning")], [0, false]);
      assertMatch(stderr, /^platform-auth: warning: .*--allow-env\n$/);
    }
  }));

Deno.test("the password comes from standard input, its first line verbatim", () =>
  inCliWorld(async (world) => {
    const password = ` p"$w #${crypto.randomUUID()} `;
    world.sandbox.addUser({ username: "ada", password });
    const login = ["login", "--username", "ada", "--stdin"];
    const result = await world.run(login, { stdin: `${password}\r\nrest\n` });
    assertEquals([result.code, result.stderr], [0, ""]);
    assertStringIncludes(result.stdout, "Signed in as ada");
    assertEquals((await world.run([...login, "--force"], { stdin: password })).code, 0);
    const wrong = await world.run([...login, "--force"], { stdin: "not-it-at-all\n" });
    assertEquals(wrong.code, 1);
    assertMatch(wrong.stderr, /^platform-auth: Cannot log in: .* explain INVALID_CREDENTIALS\)\n$/);
    assert(!wrong.stderr.includes("not-it"));
    const empty = await world.run([...login, "--force"], { stdin: "\n" });
    assertEquals([empty.code, empty.stdout], [2, ""]);
    assertMatch(empty.stderr, /first line of standard input is empty/);
    assertEquals(world.sandbox.requests.length, 3);
  }));

Deno.test("the portal string comes from standard input", () =>
  inCliWorld(async (world) => {
    const portalString = await world.sandbox.portalToken();
    const result = await world.run(["login", "--portal", "--stdin"], {
      stdin: `${portalString}\n`,
    });
    assertEquals([result.code, result.stderr], [0, ""]);
    assertMatch(result.stdout, /! warning: a portal token cannot be refreshed/);
    assertHides(result, world);
    const refresh = await world.run(["refresh"]);
    assertEquals(refresh.code, 3);
    assertMatch(refresh.stderr, /explain CANNOT_REFRESH\)/);
    assertEquals(world.sandbox.requests.length, 0);
  }));

Deno.test("--env-file selects the file, and false keeps the session in memory", () =>
  inCliWorld(async (world) => {
    const { envFile, folder, run } = world;
    const other = `${folder}/other.env`;
    await Deno.rename(envFile, other);
    assertEquals((await run(["login", "--env-file", "other.env"])).code, 0);
    assertMatch(await Deno.readTextFile(other), /^ACCESS_TOKEN=eyJ/m);
    assertEquals((await run(["status"])).code, 3);
    assertEquals((await run(["status"], { env: { AUTH_ENV_FILE: other } })).code, 0);
    const env = { ...world.variables, AUTH_ENV_FILE: other };
    const memory = await run(["login", "--env-file=false"], { env });
    assertMatch(memory.stdout, /kept in memory only/);
    assertEquals([...Deno.readDirSync(folder)].some(({ name }) => name === ".env"), false);
  }));

Deno.test("a session that cannot be saved is a failure: no other command finds it", () =>
  inCliWorld(async ({ run, variables }) => {
    const given = { env: variables, flags: ["-A"] };
    const { code, stdout, stderr } = await run(["login", "--env-file", "missing/.env"], given);
    assertEquals([code, stderr], [1, ""]);
    assertMatch(stdout, /^◐ Signed in as student[^]*kept in memory only: Cannot/);
  }));

Deno.test("without a session the exit status is 3, and the error says what to do", () =>
  inCliWorld(async ({ run, folder, variables }) => {
    const { PASSWORD: _, ...others } = variables;
    await writeEnv(folder, others);
    for (const args of [["token"], ["refresh"], ["fetch", "/v1/stations"]]) {
      const { code, stdout, stderr } = await run(args);
      assertEquals([code, stdout], [3, ""], args[0]);
      assertMatch(
        stderr,
        /^platform-auth: There is no session.*run platform-auth login .*explain NO_SESSION\)\n$/,
      );
    }
    const { error } = JSON.parse((await run(["token", "--json"])).stderr);
    assertEquals([error.name, error.code], ["SessionExpiredError", "NO_SESSION"]);
    assertMatch((await run(["status"])).stdout, /run platform-auth login\n/);
  }));

const FULL = "/dev/full";
// Another process looks: `deno test` with permissions, also with all for reading, may not see devices.
const lack = await runQuietly("sh", "-c", `test -c ${FULL}`) === "done"
  ? undefined
  : { reason: `there is no ${FULL}`, installable: false };
testNeeding(
  lack,
  "output that cannot be written is one sentence",
  () =>
    inCliWorld(async ({ run, signIn }) => {
      await signIn();
      for (const args of [["status"], ["status", "--json"], ["fetch", "/v1/stations"]]) {
        const { code, stderr } = await run(args, { shell: `exec "$@" > ${FULL}` });
        assertEquals(code, 1, `${args.join(" ")}: ${stderr}`);
        assertMatch(stderr, /^[^\n]*Cannot write to standard output: No space [^\n]*\n$/);
      }
    }),
);

Deno.test("a reader that went away ends a command quietly", () =>
  inCliWorld(async ({ start, signIn }) => {
    await signIn();
    for (const args of [["status"], ["fetch", "/v1/stations"]]) {
      await using child = start(args);
      await child.stdout.cancel();
      const stderr = await new Response(child.stderr).text();
      assertEquals([(await child.status).code, stderr], [0, ""], args.join(" "));
    }
  }));

Deno.test("deno install makes a command that runs from any folder", () =>
  inCliWorld(async ({ folder, variables }) => {
    const root = await Deno.makeTempDir();
    try {
      const cli = import.meta.resolve("../../src/cli.ts");
      const options = ["-g", "-q", "-f", "-A", "--root", root, "-n", "platform-auth"];
      const installed = await new Deno.Command(Deno.execPath(), {
        args: ["install", ...options, cli],
        env: { NO_COLOR: "1" },
      }).output();
      assert(installed.success, new TextDecoder().decode(installed.stderr));
      const command = `${root}/bin/platform-auth${Deno.build.os === "windows" ? ".cmd" : ""}`;
      const run = async (...args: string[]) =>
        new TextDecoder().decode(
          (await new Deno.Command(command, { args, cwd: folder }).output()).stdout,
        );
      assertMatch(await run("login"), /Signed in as student/);
      assertEquals((await run("token")).split(".").length, 3);
      assertEquals(JSON.parse(await run("fetch", "/v1/whoami")).username, variables.USERNAME);
      assertMatch(await run("explain", "no_session"), /^NO_SESSION\n\n[^]*- Symptom/);
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  }));
