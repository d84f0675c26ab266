/** Who may receive a secret of the environment: never a host that only a found `.env` names. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { createSession } from "../../mod.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/mod.ts";
import { jwt } from "../support/answers.ts";
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

/** The results of a call and a login with a found file, by the row of docs/security.md. */
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
    // The file's own client secret, which is not a secret of the user.
    APP_CLIENT_SECRET: "planted-client-secret-1",
    API_ALLOWED_ORIGINS: theirs.url,
    // The address of a store is easy to guess, and not used from a file.
    ...(env.AUTH_STORE && { AUTH_STORE: env.AUTH_STORE }),
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

/** Parts of a story: a sandbox of the user, and a file with hosts of someone else. */
interface Story {
  readonly sandbox: Sandbox;
  /** Address of the hosts in the found file. */
  readonly theirs: string;
  readonly token: string;
}

/** A stranger's attempts to send a token of the environment to the hosts in the file. */
const STORIES: Record<string, {
  env(story: Story): Record<string, string> | Promise<Record<string, string>>;
  file(story: Story): Record<string, string>;
  script(story: Story): string;
}> = {
  "a refresh at the user's own provider": {
    env: async ({ sandbox, token }) => ({
      ...ownProvider(sandbox),
      ACCESS_TOKEN: token,
      REFRESH_TOKEN: await refreshToken({ sandbox, store: "" }),
    }),
    // The client secret is no secret of the environment alone.
    file: ({ sandbox, theirs }) => ({
      API_BASE_URL: theirs,
      APP_CLIENT_SECRET: sandbox.settings.clientSecret,
    }),
    script: () =>
      `await tried(() => mod.refresh()); await tried(() => mod.login());
      await tried(() => mod.authFetch("/x")); mod.status(); await tried(() => mod.authFetch("/x"));`,
  },
  "tokens that are no longer copied to the environment": {
    env: ({ token }) => ({ ACCESS_TOKEN: token }),
    file: ({ theirs }) => ({ API_BASE_URL: theirs }),
    script: () =>
      `await tried(() => mod.authFetch("/x")); mod.status();
      mod.configure({ exportEnv: "none" }); await tried(() => mod.authFetch("/x"));`,
  },
  "tokens in the file that nobody can use": {
    env: ({ sandbox, token }) => ({ AUTH_URL: sandbox.authUrl, ACCESS_TOKEN: token }),
    file: ({ theirs }) => ({
      API_BASE_URL: theirs,
      REFRESH_TOKEN: "x",
      AUTH_SESSION: "provider:https%3A%2F%2Fother.example",
    }),
    script: ({ sandbox }) =>
      `mod.configure({ apiBaseUrl: ${JSON.stringify(sandbox.apiUrl)} });
      await tried(() => mod.authFetch("/v1/whoami"));
      mod.configure({}); await tried(() => mod.authFetch("/x"));`,
  },
  "a host that is added later": {
    env: ({ sandbox, token }) => ({ API_BASE_URL: sandbox.apiUrl, ACCESS_TOKEN: token }),
    file: () => ({ MINE: "1" }),
    script: ({ theirs }) =>
      `await tried(() => mod.authFetch("/v1/whoami"));
      Deno.writeTextFileSync(".env", "API_ALLOWED_ORIGINS=${theirs}\\n");
      await tried(() => mod.authFetch("${theirs}/x")); mod.status();
      await tried(() => mod.authFetch("${theirs}/x"));`,
  },
  "a portal string, after which no prompt named a host": {
    env: ({ token }) => ({ ACCESS_TOKEN: token }),
    file: ({ theirs }) => ({ API_BASE_URL: theirs }),
    script: ({ token }) =>
      `await tried(() => mod.login({ portalToken: ${JSON.stringify(token)} }));
      await tried(() => mod.authFetch("/x")); mod.status(); await tried(() => mod.authFetch("/x"));`,
  },
};

function ownProvider(sandbox: Sandbox): Record<string, string> {
  const { API_BASE_URL: _, USERNAME: __, PASSWORD: ___, ...own } = variablesOf(sandbox.settings);
  return own;
}

for (const [title, { env, file, script }] of Object.entries(STORIES)) {
  Deno.test(`the hosts in a found .env get no token of the environment by ${title}`, async () => {
    await using sandbox = await startSandbox();
    await using theirs = startTcpCapture(Array.from({ length: 9 }, () => rawAnswer(200, "{}")));
    const token = (await sandbox.portalToken()).replace("bearer ", "");
    const story = { sandbox, theirs: theirs.url, token };
    await inFolder(async (folder) => {
      await writeEnv(folder, file(story));
      const source = `import * as mod from ${JSON.stringify(MOD_PATH)};
        const tried = (work) => work().then((it) => it?.body?.cancel?.(), () => {});
        ${script(story)}
        console.log("DONE");`;
      const variables = { NO_PROXY: "127.0.0.1", ...await env(story) };
      const { stdout, stderr } = await runScript(source, {
        cwd: folder,
        flags: ["-A"],
        env: variables,
      });
      assertStringIncludes(stdout, "DONE", stderr);
      assertEquals(theirs.requests.length, 0);
      // Nothing that belongs to the environment is left in a file that was only found.
      assertEquals((await Deno.readTextFile(`${folder}/.env`)).includes(token), false);
    });
  });
}

Deno.test("a token in a found .env does not replace the user's own in the environment", async () => {
  await using sandbox = await startSandbox();
  await inFolder(async (folder) => {
    const token = (await sandbox.portalToken()).replace("bearer ", "");
    const payload = JSON.parse(
      atob((token.split(".")[1] ?? "").replace(/-/g, "+").replace(/_/g, "/")),
    );
    const forged = jwt({ ...payload, iat: payload.iat + 60 });
    await writeEnv(folder, {
      ...ownProvider(sandbox),
      API_BASE_URL: sandbox.apiUrl,
      ACCESS_TOKEN: forged,
    });
    const script = `import { logout, status } from ${JSON.stringify(MOD_PATH)};
      const seen = [status().state, Deno.env.get("ACCESS_TOKEN") === Deno.args[0]];
      await logout({ revoke: false });
      console.log(...seen, Deno.env.get("ACCESS_TOKEN") === Deno.args[0]);`;
    const { stdout } = await runScript(script, {
      cwd: folder,
      flags: ["-A"],
      args: [token],
      env: { ACCESS_TOKEN: token },
    });
    assertEquals(stdout.trim(), "valid true true");
  });
});

Deno.test("an expired token in the environment, or one of another folder, leaves an own .env in use", async () => {
  await using sandbox = await startSandbox();
  await inFolder(async (folder) => {
    const { clientId, username } = sandbox.settings;
    const expired = jwt({ client_id: clientId, username, iat: 1_000, exp: 2_000 });
    const script = `import { fetchJson, login } from ${JSON.stringify(MOD_PATH)};
      await login();
      console.log((await fetchJson("/v1/whoami")).username);`;
    await writeEnv(folder, variablesOf(sandbox.settings));
    // In the second run, the file contains a session.
    for (const ACCESS_TOKEN of [expired, (await sandbox.portalToken()).replace("bearer ", "")]) {
      const env = { NO_PROXY: "127.0.0.1", ACCESS_TOKEN };
      const { stdout, stderr } = await runScript(script, { cwd: folder, flags: ["-A"], env });
      assertEquals(stdout.trim(), "student", stderr);
    }
  });
});

Deno.test("a session that cannot be saved continues, even if an option overrides a host in the file", async () => {
  await using sandbox = await startSandbox();
  await inFolder(async (folder) => {
    await writeEnv(folder, variablesOf(sandbox.settings));
    // A file with an unclosed quote is not edited.
    await Deno.writeTextFile(`${folder}/.env`, `MINE="open\\n`, { append: true });
    const script = `import { configure, fetchJson, login, status } from ${JSON.stringify(MOD_PATH)};
      configure({ apiBaseUrl: ${JSON.stringify(sandbox.apiUrl)} });
      await login();
      const first = status().state;
      console.log(first, (await fetchJson("/v1/whoami")).username, status().state);`;
    const env = { NO_PROXY: "127.0.0.1" };
    const { stdout, stderr } = await runScript(script, { cwd: folder, flags: ["-A"], env });
    assertEquals(stdout.trim(), "valid student valid", stderr);
  });
});
