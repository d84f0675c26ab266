/** Commands, their output and their exit status. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { dirname } from "node:path";
import { repeatedPart } from "../support/canaries.ts";
import { type ChildResult, namesIn } from "../support/child_deno.ts";
import type { CliWorld } from "../support/cli_world.ts";
import { runQuietly } from "../support/needs.ts";
import { linesOf } from "../support/portless.ts";
import { writeEnv } from "../support/sandbox_env.ts";
import { commandTest } from "./own_process.ts";

/** Fails if a command shows a secret; only `token` may do so. */
function assertHides({ stdout, stderr }: ChildResult, { envFile }: CliWorld): void {
  const { APP_CLIENT_SECRET, PASSWORD, ACCESS_TOKEN, REFRESH_TOKEN } = linesOf(envFile);
  const secrets = [APP_CLIENT_SECRET, PASSWORD, ACCESS_TOKEN, REFRESH_TOKEN]
    .flatMap((text) => text?.replace(/^eyJ[\w-]+\./, "") ?? []);
  assert(secrets.length >= 2);
  assertEquals(repeatedPart(stdout + stderr, secrets), undefined);
}

commandTest(
  "login, status, refresh, doctor and logout work in sequence, and show no secret",
  async (world) => {
    const { run, envFile, sandbox } = world;
    const step = async (status: number, ...args: string[]) => {
      const result = await run(args);
      assertHides(result, world);
      assertEquals([result.code, result.stderr], [status, ""], args.join(" "));
      return result.stdout;
    };
    await step(3, "status");
    const card = await step(0, "login");
    assertMatch(card, /^● Signed in as student at 127\.0\.0\.1 .*\n {2}access token: valid for /);
    assertMatch(await step(0, "status"), /kept in .*\.env/);
    const { state, warnings, ...status } = JSON.parse(await step(0, "status", "--json"));
    assertEquals([state, status.envFile, warnings], ["valid", envFile, []]);
    await step(0, "login");
    assertEquals(sandbox.requests.length, 1, "the session is kept");
    await step(0, "login", "--force");
    assertEquals(JSON.parse(await step(0, "refresh", "--json")).state, "valid");
    const flows = sandbox.requests.map(({ authFlow }) => authFlow);
    assertEquals(flows, ["USER_PASSWORD_AUTH", "USER_PASSWORD_AUTH", "REFRESH_TOKEN_AUTH"]);
    assertEquals(JSON.parse(await step(0, "doctor", "--json")).ok, true);
    assertMatch(await step(0, "logout"), /^○ Not signed in.* and at the provider$/ms);
    assertEquals(linesOf(envFile), world.variables);
  },
);

const logouts: [option: string, note: RegExp, sent: string[]][] = [
  ["--everywhere", /: on all devices$/m, ["GlobalSignOut"]],
  ["--keep-remote", /: on this computer$/m, []],
];
commandTest("logout can sign out all devices or send nothing", async ({ run, sandbox, signIn }) => {
  for (const [option, note, sent] of logouts) {
    await signIn();
    const before = sandbox.requests.length;
    const { code, stdout } = await run(["logout", option]);
    assertEquals(code, 0);
    assertMatch(stdout, note);
    assertEquals(sandbox.requests.slice(before).map(({ operation }) => operation), sent);
  }
  assertEquals((await run(["logout"])).stdout, "There was no session.\n");
});

commandTest("token prints only a current token, or JSON with --json", async (world) => {
  const { run, envFile, sandbox, signIn } = world;
  await signIn();
  const assertPrints = async (requests: number, ...options: string[]) => {
    const { code, stdout, stderr } = await run(["token", ...options]);
    assertEquals([code, stderr, sandbox.requests.length], [0, "", requests]);
    // Not assertEquals(), whose diff would show the tokens.
    assert(stdout === `${linesOf(envFile).ACCESS_TOKEN}\n`);
  };
  await assertPrints(1);
  const { ACCESS_TOKEN: access_token, ACCESS_TOKEN_EXPIRES_AT: expires_at } = linesOf(envFile);
  const api_base_url = `${sandbox.apiUrl}/`;
  const json = JSON.parse((await run(["token", "--json"])).stdout);
  assertEquals(json, { access_token, expires_at, api_base_url, warnings: [] });
  const soon = new Date(Date.now() + 900_000).toISOString();
  await writeEnv(dirname(envFile), { ...linesOf(envFile), ACCESS_TOKEN_EXPIRES_AT: soon });
  await assertPrints(1, "--min-valid", "600");
  await assertPrints(2, "--min-valid", "1200");
});

commandTest("--verbose only adds a log on standard error", async (world) => {
  await world.signIn();
  const args = ["fetch", "/v1/nowhere"];
  const plain = await world.run(args);
  const verbose = await world.run([...args, "--verbose"]);
  assertEquals([verbose.code, verbose.stdout], [plain.code, plain.stdout]);
  assertMatch(verbose.stderr, /^\S+ platform-auth: settings .*\n\S+ platform-auth: request .*\n/);
  assert(verbose.stderr.endsWith(plain.stderr));
  assertHides(verbose, world);
});

commandTest(
  "warnings go to standard error, separate from the token or response on standard output",
  async ({ runSeparately, flagsOf, signIn }) => {
    await signIn();
    for (const args of [["token"], ["fetch", "/v1/stations"]]) {
      const flags = flagsOf(args[0] ?? "").filter((flag) => flag !== "--allow-env");
      const { code, stdout, stderr } = await runSeparately(args, { flags });
      assertEquals([code, stdout.includes("warning")], [0, false]);
      assertMatch(stderr, /^platform-auth: warning: .*--allow-env\n$/);
    }
  },
);

commandTest(
  "login --stdin reads the password from the first line, unchanged",
  async ({ run, sandbox }) => {
    const password = ` p"$w #${crypto.randomUUID()} `;
    sandbox.addUser({ username: "ada", password });
    const login = (stdin: string) =>
      run(["login", "--username", "ada", "--stdin", "--force"], { stdin });
    const result = await login(`${password}\r\nrest\n`);
    assertEquals([result.code, result.stderr], [0, ""]);
    assertStringIncludes(result.stdout, "Signed in as ada");
    const wrong = await login("not-it-at-all\n");
    assertEquals(wrong.code, 1);
    assertMatch(wrong.stderr, /^platform-auth: Cannot log in: .* explain INVALID_CREDENTIALS\)\n$/);
    assert(!wrong.stderr.includes("not-it"));
    assertEquals((await login("\n")).code, 2);
    assertEquals(sandbox.requests.length, 2);
  },
);

commandTest("login --portal --stdin reads the portal string", async (world) => {
  const { run, envFile, sandbox } = world;
  const login = (stdin: string) => run(["login", "--portal", "--stdin"], { stdin });
  const result = await login(`${await sandbox.portalToken()}\n`);
  assertEquals([result.code, result.stderr], [0, ""]);
  assertMatch(result.stdout, /! warning: .*cannot be refreshed/);
  assertHides(result, world);
  assertEquals((await run(["refresh"])).code, 3);
  const before = await Deno.readTextFile(envFile);
  const refused = await login("ashleyjackson\n");
  assertEquals([refused.code, refused.stdout], [1, ""]);
  assertMatch(refused.stderr, /explain INVALID_PORTAL_TOKEN\)\n$/);
  assertEquals([await Deno.readTextFile(envFile), sandbox.requests.length], [before, 0]);
});

commandTest(
  "a command refuses standard input that is not UTF-8, and sends nothing",
  async ({ run, sandbox }) => {
    // In Latin-1 and UTF-16: each character stands for one byte.
    for (const bytes of ["gr\xfcn\n", "p\0w\0\n\0"]) {
      const stdin = Uint8Array.from(bytes, (character) => character.charCodeAt(0));
      const { code, stderr } = await run(["login", "--username", "ada", "--stdin"], { stdin });
      assertEquals(code, 1);
      assertMatch(stderr, /it is not UTF-8 text, but perhaps UTF-16; save it .* FILE\)\n$/);
    }
    assertEquals(sandbox.requests, []);
  },
);

commandTest(
  "--env-file selects the .env, and --env-file=false keeps the session in memory",
  async (world) => {
    const { envFile, folder, runSeparately: run } = world;
    const other = `${folder}/other.env`;
    await Deno.rename(envFile, other);
    assertEquals((await run(["login", "--env-file", "other.env"])).code, 0);
    assertMatch(await Deno.readTextFile(other), /^ACCESS_TOKEN=eyJ/m);
    assertEquals((await run(["status"])).code, 3);
    const env = { ...world.variables, AUTH_ENV_FILE: other };
    assertEquals((await run(["status"], { env })).code, 0);
    const memory = await run(["login", "--env-file=false"], { env });
    assertMatch(memory.stdout, /kept in memory only/);
    assertEquals(namesIn(folder).includes(".env"), false);
  },
);

commandTest(
  "login fails if it cannot save the session for the next command",
  async ({ run, folder, variables }) => {
    const missing = ["--env-file", `${folder}/missing/.env`];
    const { code, stdout, stderr } = await run(["login", ...missing], { env: variables });
    assertEquals([code, stderr], [1, ""]);
    assertMatch(stdout, /^◐ Signed in as student[^]*kept in memory only: Cannot/);
  },
);

commandTest(
  "a command that needs a session shows the next step and ends with exit status 3",
  async ({ run, folder, sandbox, variables }) => {
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
    assertEquals(sandbox.requests.length, 0);
    assertMatch((await run(["status"])).stdout, /run platform-auth login\n/);
  },
);

const body = JSON.stringify({ __type: "NotAuthorizedException", message: "refused" });
const refusal = { at: "token", status: 400, body } as const;
commandTest(
  "a command sends a stored password that the provider refuses once, and ends with exit status 3",
  async ({ run, envFile, sandbox }) => {
    const kept = await Deno.readTextFile(envFile);
    for (const args of [["login"], ["fetch", "/v1/stations"], ["token"]]) {
      const { code, stdout } = await run(args);
      assertEquals([code, stdout], [3, ""], args[0]);
    }
    assertEquals(sandbox.requests.map(({ status }) => status), [400, 400, 400]);
    assertEquals(await Deno.readTextFile(envFile), kept);
  },
  { failures: [refusal] },
);

const FULL = "/dev/full";
// A separate process checks, because `deno test` may not read devices.
const lack = await runQuietly("sh", "-c", `test -c ${FULL}`) === "done"
  ? undefined
  : { reason: `there is no ${FULL}`, installable: false };
commandTest(
  "a command reports in one sentence that its output does not fit on the disk",
  async ({ runSeparately, signIn }) => {
    await signIn();
    for (const args of [["status"], ["fetch", "/v1/stations"]]) {
      const { code, stderr } = await runSeparately(args, { shell: `exec "$@" > ${FULL}` });
      assertEquals(code, 1, stderr);
      assertMatch(stderr, /^[^\n]*Cannot write to standard output: No space [^\n]*\n$/);
    }
  },
  { lack },
);

commandTest(
  "a command ends quietly if the program that reads its output has ended",
  async ({ start, signIn }) => {
    await signIn();
    for (const args of [["status"], ["fetch", "/v1/stations"]]) {
      await using child = start(args);
      await child.stdout.cancel();
      const stderr = await new Response(child.stderr).text();
      assertEquals([(await child.status).code, stderr], [0, ""], args.join(" "));
    }
  },
);
