/** Who may receive a secret of the environment: never a host that only a found `.env` names. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { createSession } from "../../mod.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/mod.ts";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";
import { testNeeding } from "../support/needs.ts";
import { NO_REDIS, startRedis } from "../support/redis_server.ts";
import { variablesOf, writeEnv } from "../support/sandbox_env.ts";
import { commandLine, printing } from "../support/token_command.ts";
import { linesOf } from "../support/portless.ts";
import { rawAnswer, startTcpCapture } from "../support/tcp_capture.ts";

const CLI_PATH = decodeURIComponent(new URL(import.meta.resolve("../../src/cli.ts")).pathname);
const SECURITY = fileURLToPath(import.meta.resolve("../../docs/security.md"));

/** Makes every call and runs every command that sends something, and prints how each ended. */
const EVERYTHING = `
  import * as mod from ${JSON.stringify(MOD_PATH)};
  import { runCli } from ${JSON.stringify(CLI_PATH)};
  const [planted, half] = Deno.args;
  const outcome = (work) => work().then((it) => it?.state ?? it?.status ?? "done", (error) => error.code);
  const ends = {};
  const calls = {
    login: () => mod.login({ strategy: "environment", force: true }),
    path: () => mod.authFetch("/v1/whoami"),
    address: () => mod.authFetch(planted + "/v1/whoami", { method: "POST", body: "x" }),
    fetchJson: () => mod.fetchJson("/v1/whoami"),
    download: () => mod.download("/v1/whoami", "whoami.json", { ifExists: "replace" }),
    refresh: () => mod.refresh(),
    doctor: () => mod.doctor({ login: true }),
    everywhere: () => mod.logout({ everywhere: true }),
  };
  const lines = [
    "login", "login --force", "status", "token", "fetch /v1/whoami", "fetch " + planted + "/v1/x",
    "refresh", "doctor", "doctor --login", "fetch /v1/whoami -o x.json", "logout --everywhere",
  ];
  if (half === "calls") {
    for (const [name, call] of Object.entries(calls)) ends[name] = await outcome(call);
  } else {
    for (const line of lines) await runCli(line.split(" "));
  }
  console.log("ENDS " + JSON.stringify(ends));`;

/** A secret that the environment may contain, by the variables that bring it. */
interface Kind {
  readonly names: string;
  variables(world: World): Promise<Record<string, string>> | Record<string, string>;
  /** Whether it takes a Redis server. */
  readonly store?: true;
}

interface World {
  readonly sandbox: Sandbox;
  readonly store: string;
}

const bare = async ({ sandbox }: World) => (await sandbox.portalToken()).replace("bearer ", "");
const refreshToken = async ({ sandbox }: World): Promise<string> => {
  const envFile = `${await Deno.makeTempDir()}/.env`;
  await createSession({ ...sandbox.settings, envFile }).login();
  return linesOf(envFile).REFRESH_TOKEN ?? "";
};
const passwordOf = ({ sandbox: { settings } }: World) => ({
  USERNAME: settings.username,
  PASSWORD: settings.password,
});
const stored = async (world: World, key = "") => {
  const { authUrl, userPoolId, clientId, clientSecret, username, password, provider } =
    world.sandbox.settings;
  const account = { authUrl, userPoolId, clientId, clientSecret, username, password, provider };
  await createSession({
    ...account,
    store: world.store,
    ...(key && { storeKey: key }),
  }).login();
  return { AUTH_STORE: world.store, ...(key && { AUTH_STORE_KEY: key }) };
};

const KINDS: readonly Kind[] = [
  { names: "`USERNAME`, `PASSWORD`", variables: passwordOf },
  {
    names: "`APP_CLIENT_SECRET`",
    variables: ({ sandbox }) => ({ APP_CLIENT_SECRET: sandbox.settings.clientSecret }),
  },
  {
    names: "`USERNAME`, `PASSWORD`, `APP_CLIENT_SECRET`",
    variables: (world) => ({
      ...passwordOf(world),
      APP_CLIENT_SECRET: world.sandbox.settings.clientSecret,
    }),
  },
  {
    names: "`ACCESS_TOKEN`",
    variables: async (world) => ({ ACCESS_TOKEN: await bare(world) }),
  },
  {
    names: "`ACCESS_TOKEN` with `bearer`",
    variables: async ({ sandbox }) => ({ ACCESS_TOKEN: await sandbox.portalToken() }),
  },
  {
    names: "`ACCESS_TOKEN`, `REFRESH_TOKEN`",
    variables: async (world) => ({
      ACCESS_TOKEN: await bare(world),
      REFRESH_TOKEN: await refreshToken(world),
    }),
  },
  {
    names: "`ACCESS_TOKEN`, `APP_CLIENT_SECRET`",
    variables: async (world) => ({
      ACCESS_TOKEN: await bare(world),
      APP_CLIENT_SECRET: world.sandbox.settings.clientSecret,
    }),
  },
  {
    names: "`AUTH_TOKEN_COMMAND`",
    variables: async (world) => ({
      AUTH_TOKEN_COMMAND: commandLine(printing(await bare(world))),
    }),
  },
  { names: "`AUTH_STORE`", variables: (world) => stored(world), store: true },
  {
    names: "`AUTH_STORE`, `AUTH_STORE_KEY`",
    variables: (world) => stored(world, "k".repeat(43)),
    store: true,
  },
];

/** What a call and a login do with a found file, by the row of docs/security.md. */
const FOUND = { call: "UNTRUSTED_ORIGIN", login: "MISSING_SETTINGS" };

for (const kind of KINDS) {
  testNeeding(
    kind.store && NO_REDIS,
    `a planted .env gets nothing of the environment's ${kind.names}`,
    () => inWorld(assertPlanted, kind),
  );
  testNeeding(
    kind.store && NO_REDIS,
    `a named .env gets calls with the environment's ${kind.names}`,
    () => inWorld(assertNamed, kind),
  );
}

async function inWorld(
  check: (world: World, env: Record<string, string>, folder: string, kind: Kind) => Promise<void>,
  kind: Kind,
): Promise<void> {
  await using sandbox = await startSandbox();
  await inFolder(async (folder) => {
    await Deno.mkdir(`${folder}/redis`);
    await using redis = kind.store && await startRedis(`${folder}/redis`, false);
    const world = { sandbox, store: redis?.url ?? "" };
    await check(world, await kind.variables(world), folder, kind);
  });
}

async function assertPlanted(
  { sandbox }: World,
  env: Record<string, string>,
  folder: string,
  { names }: Kind,
): Promise<void> {
  await using theirs = startTcpCapture(Array.from({ length: 60 }, () => rawAnswer(200, "{}")));
  const { clientId, userPoolId } = sandbox.settings;
  const { APP_CLIENT_SECRET: _, USERNAME: __, PASSWORD: ___, ...own } = variablesOf({
    ...sandbox.settings,
    authUrl: theirs.url,
    apiBaseUrl: theirs.url,
  });
  await writeEnv(folder, {
    ...own,
    APP_CLIENT_ID: clientId,
    USER_POOL_ID: userPoolId,
    // A client secret of their own, which is no secret of the user's.
    APP_CLIENT_SECRET: "planted-client-secret-1",
    API_ALLOWED_ORIGINS: theirs.url,
  });
  const asked = sandbox.requests.length;
  const run = async (half: string) => {
    const { stdout, stderr } = await runScript(EVERYTHING, {
      cwd: folder,
      flags: ["-A"],
      args: [theirs.url, half],
      env: { NO_PROXY: "127.0.0.1", ...env },
    });
    return JSON.parse(/^ENDS (.*)$/m.exec(stdout)?.[1] ?? stderr);
  };
  const [ends] = [await run("calls"), await run("commands")];
  assertEquals(theirs.requests.length, 0, JSON.stringify(ends));
  assertEquals(sandbox.requests.length, asked);
  for (const call of ["path", "address", "fetchJson", "download"]) {
    assertEquals([call, ends[call]], [call, FOUND.call]);
  }
  if (!("AUTH_TOKEN_COMMAND" in env)) assertEquals(ends.login, FOUND.login);
  const row = `| ${names} | \`${FOUND.call}\` | sent |`;
  assertStringIncludes((await Deno.readTextFile(SECURITY)).replace(/ +/g, " "), row);
}

async function assertNamed(
  { sandbox }: World,
  env: Record<string, string>,
  folder: string,
): Promise<void> {
  await writeEnv(folder, variablesOf(sandbox.settings));
  const script = `
    import { runCli } from ${JSON.stringify(CLI_PATH)};
    console.log("CODE " + await runCli(["fetch", "/v1/whoami"]));`;
  const { stdout, stderr } = await runScript(script, {
    cwd: folder,
    flags: ["-A"],
    env: { NO_PROXY: "127.0.0.1", AUTH_ENV_FILE: `${folder}/.env`, ...env },
  });
  assertStringIncludes(stdout, '"username":"student"', stderr);
  assertStringIncludes(stdout, "CODE 0");
}

Deno.test("a child process uses the token and the file of its parent, saved or not", async () => {
  await using sandbox = await startSandbox();
  await inFolder(async (folder) => {
    const { USERNAME: _, PASSWORD: __, ...own } = variablesOf(sandbox.settings);
    const token = await sandbox.portalToken();
    const parent = `
      import { login } from ${JSON.stringify(MOD_PATH)};
      await login({ portalToken: ${JSON.stringify(token)} });
      // Another program removed what was saved.
      Deno.writeTextFileSync(".env", ${
      JSON.stringify(
        Object.entries(own).map(([name, value]) => `${name}=${value}\n`).join(""),
      )
    });
      const args = ["run", "--quiet", "--no-lock", "-A", "child.ts"];
      const { stdout } = await new Deno.Command(Deno.execPath(), { args }).output();
      console.log(new TextDecoder().decode(stdout));`;
    await writeEnv(folder, own);
    await Deno.writeTextFile(
      `${folder}/child.ts`,
      `import { fetchJson } from ${JSON.stringify(MOD_PATH)};
       console.log((await fetchJson("/v1/whoami")).username);`,
    );
    const env = { NO_PROXY: "127.0.0.1" };
    const { stdout, stderr } = await runScript(parent, { cwd: folder, flags: ["-A"], env });
    assertEquals(stdout.trim(), "student", stderr);
  });
});

Deno.test("a token of another program in the environment leaves a found .env in use", async () => {
  await using sandbox = await startSandbox();
  await inFolder(async (folder) => {
    await writeEnv(folder, variablesOf(sandbox.settings));
    const script = `
      import { fetchJson, login, status } from ${JSON.stringify(MOD_PATH)};
      const codes = status().notices.map(({ code }) => code);
      await login();
      console.log((await fetchJson("/v1/whoami")).username, codes);`;
    const env = { NO_PROXY: "127.0.0.1", ACCESS_TOKEN: "ghp_somebody-elses-token-of-some-length" };
    const { stdout, stderr } = await runScript(script, { cwd: folder, flags: ["-A"], env });
    assertEquals(stdout.trim(), 'student [ "ENVIRONMENT_IGNORED" ]', stderr);
  });
});
