/** No secret from the environment is sent to a host that is set only in a `.env` found by search. */
import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { createSession, type SessionOptions } from "../../mod.ts";
import { type Sandbox, type SandboxOptions, startSandbox } from "../../src/sandbox/mod.ts";
import { jwt } from "../support/answers.ts";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";
import { testNeeding } from "../support/needs.ts";
import { linesOf } from "../support/portless.ts";
import { NO_REDIS, startRedis } from "../support/redis_server.ts";
import { variablesOf, writeEnv } from "../support/sandbox_env.ts";
import { record } from "../support/local_server.ts";

type Variables = Record<string, string>;

const CLI_PATH = MOD_PATH.replace("mod.ts", "src/cli.ts");

/** The user's sandbox, and a folder in which a test writes a `.env`. */
interface World {
  readonly sandbox: Sandbox;
  /** The settings of the sandbox without user name and password. */
  readonly own: Variables;
  /** A token of the sandbox. */
  readonly token: string;
  readonly folder: string;
  /** Runs a script that uses the module as `mod`, and returns its output. */
  run(script: string, env?: Variables): Promise<string>;
}

async function inWorld(
  use: (world: World) => Promise<void>,
  options: SandboxOptions = {},
): Promise<void> {
  await using sandbox = await startSandbox(options);
  const token = (await sandbox.portalToken()).replace("bearer ", "");
  const { USERNAME: _, PASSWORD: __, ...own } = variablesOf(sandbox.settings);
  await inFolder(async (folder) => {
    const run: World["run"] = async (script, env) => {
      const source = `import * as mod from ${JSON.stringify(MOD_PATH)};\n${script}`;
      const options = { cwd: folder, flags: ["-A"], env: { NO_PROXY: "127.0.0.1", ...env } };
      const { stdout, stderr } = await runScript(source, options);
      assert(stdout !== "", stderr);
      return stdout.trim();
    };
    await use({ sandbox, own, token, folder, run });
  });
}

/** The lines that a login with these options saves in a `.env`. */
function linesOfLogin(options: SessionOptions): Promise<Variables> {
  return inFolder(async (folder) => {
    const envFile = `${folder}/.env`;
    await createSession({ ...options, envFile }).login();
    return linesOf(envFile);
  });
}

/** Makes every call that sends something, and prints the result of each. */
const callsTo = (planted: string) => `
  const calls = {
    login: () => mod.login({ strategy: "environment", force: true }),
    path: () => mod.authFetch("/v1/whoami"),
    address: () => mod.authFetch("${planted}/v1/whoami", { method: "POST", body: "x" }),
    fetchJson: () => mod.fetchJson("/v1/whoami"),
    download: () => mod.download("/v1/whoami", "whoami.json", { ifExists: "replace" }),
    refresh: () => mod.refresh(),
    doctor: () => mod.doctor({ login: true }),
    everywhere: () => mod.logout({ everywhere: true }),
  };
  const results = {};
  for (const [name, call] of Object.entries(calls)) {
    results[name] = await call().then(() => "done", ({ code }) => code);
  }
  console.log(JSON.stringify(results));`;

/** Runs every command that sends something. */
const commandsTo = (planted: string) => `
  import { runCli } from ${JSON.stringify(CLI_PATH)};
  for (const line of [
    "login", "login --force", "status", "token", "fetch /v1/whoami", "fetch ${planted}/v1/x",
    "refresh", "doctor", "doctor --login", "fetch /v1/whoami -o x.json", "logout --everywhere",
  ]) await runCli(line.split(" "));`;

/** The secrets that an environment may contain. */
const SECRETS = [
  "`USERNAME`, `PASSWORD`",
  "`USERNAME`, `PASSWORD_FILE`",
  "`APP_CLIENT_SECRET`",
  "`USERNAME`, `PASSWORD`, `APP_CLIENT_SECRET`",
  "`ACCESS_TOKEN`",
  "`ACCESS_TOKEN`, `REFRESH_TOKEN`",
  "`ACCESS_TOKEN`, `APP_CLIENT_SECRET`",
  "`AUTH_STORE`",
  "`AUTH_STORE`, `AUTH_STORE_KEY`",
];

/** The variables of these secrets. The store, if there is one, contains a session. */
async function environmentWith(
  secrets: string,
  { folder, sandbox, token }: World,
  store = "",
): Promise<Variables> {
  const all: Variables = {
    ...variablesOf(sandbox.settings),
    PASSWORD_FILE: `${folder}/password`,
    ACCESS_TOKEN: token,
    REFRESH_TOKEN: (await linesOfLogin(sandbox.settings)).REFRESH_TOKEN ?? "",
    AUTH_STORE: store,
    AUTH_STORE_KEY: "k".repeat(43),
  };
  await Deno.writeTextFile(`${folder}/password`, sandbox.settings.password);
  const names = secrets.match(/[A-Z_]{5,}/g) ?? [];
  const env = Object.fromEntries(names.map((name) => [name, all[name] ?? ""]));
  if (store) {
    const { envFile: _, ...account } = sandbox.settings;
    await createSession({ ...account, store, storeKey: env.AUTH_STORE_KEY ?? "" }).login();
  }
  return env;
}

for (const secrets of SECRETS) {
  const hasStore = secrets.includes("AUTH_STORE");
  testNeeding(
    hasStore ? NO_REDIS : undefined,
    `only hosts in a .env that AUTH_ENV_FILE specifies receive the environment's ${secrets}`,
    () =>
      inWorld(async (world) => {
        const { folder, own, run, sandbox } = world;
        await Deno.mkdir(`${folder}/redis`);
        await using redis = hasStore ? await startRedis(`${folder}/redis`, false) : undefined;
        await using stranger = record();
        const env = await environmentWith(secrets, world, redis?.url);
        await writeEnv(folder, {
          ...own,
          AUTH_URL: stranger.origin,
          API_BASE_URL: stranger.origin,
          API_ALLOWED_ORIGINS: stranger.origin,
          // This client secret is the stranger's, not the user's.
          APP_CLIENT_SECRET: "planted-client-secret-1",
          // A stranger could guess the address of the store, but it is never read from a file.
          ...(env.AUTH_STORE && { AUTH_STORE: env.AUTH_STORE }),
        });
        const before = sandbox.requests.length;
        const results = JSON.parse(await run(callsTo(stranger.origin), env));
        await run(commandsTo(stranger.origin), env);
        assertEquals([stranger.requests.length, sandbox.requests.length], [0, before]);
        const { path, address, fetchJson, download, login } = results;
        const refused = "UNTRUSTED_ORIGIN";
        assertEquals([path, address, fetchJson, download], Array(4).fill(refused));
        assertEquals(login, "MISSING_SETTINGS");

        // With a password in the file, a login would hide that the token is not used.
        const isToken = secrets.includes("ACCESS_TOKEN");
        await writeEnv(folder, isToken ? own : variablesOf(sandbox.settings));
        const fetch = `import { runCli } from ${JSON.stringify(CLI_PATH)};
          console.log("CODE", await runCli(["fetch", "/v1/whoami"]));`;
        const sent = await run(fetch, { AUTH_ENV_FILE: `${folder}/.env`, ...env });
        assertStringIncludes(sent, '"username":"student"');
        assertStringIncludes(sent, "CODE 0");
      }),
  );
}

Deno.test("a child process sends its parent's token to the hosts that were in the .env, but no other token and to no other host", () =>
  inWorld(async ({ folder, own, run, token, sandbox }) => {
    await writeEnv(folder, own);
    const other = JSON.stringify((await sandbox.portalToken()).replace("bearer ", ""));
    const child = `import { fetchJson } from ${JSON.stringify(MOD_PATH)};
      await fetchJson("/v1/whoami")
        .then(({ username }) => console.log(username), ({ code }) => console.log(code));`;
    await Deno.writeTextFile(`${folder}/child.ts`, child);
    const parent = `
      const text = Deno.readTextFileSync(".env");
      await mod.login({ portalToken: ${JSON.stringify(token)} });
      const elsewhere = text.replace(/^API_BASE_URL=.*$/m, "API_BASE_URL=http://127.0.0.1:9");
      // None of the files contains the token.
      for (const [file, env] of [
        [text, {}],
        [elsewhere, {}],
        [text, { ACCESS_TOKEN: ${other} }],
        [text, { REFRESH_TOKEN: "another" }],
      ]) {
        Deno.writeTextFileSync(".env", file);
        const args = ["run", "--quiet", "--no-lock", "-A", "child.ts"];
        const { stdout } = await new Deno.Command(Deno.execPath(), { args, env }).output();
        console.log(new TextDecoder().decode(stdout).trim());
      }`;
    const outcomes = ["student", ...Array(3).fill("UNTRUSTED_ORIGIN")];
    assertEquals((await run(parent)).split("\n"), outcomes);
  }));

/** Attempts to send a token from the environment to a stranger's host that is set in the file. */
interface Story {
  readonly env: Variables;
  readonly file: Variables;
  readonly script: string;
  /** The state, status or error code of each attempt. */
  readonly outcomes: string;
}

const STORIES: Record<string, (host: string, world: World) => Story | Promise<Story>> = {
  "refresh() at the user's own provider": async (host, { own, sandbox, token }) => {
    const { REFRESH_TOKEN = "" } = await linesOfLogin(sandbox.settings);
    return {
      env: { ...own, API_BASE_URL: "", ACCESS_TOKEN: token, REFRESH_TOKEN },
      // The file has the same client secret as the environment.
      file: { API_BASE_URL: host, APP_CLIENT_SECRET: sandbox.settings.clientSecret },
      script: `await attempt(mod.refresh()); await attempt(mod.login());
        await attempt(mod.authFetch("/x")); mod.status(); await attempt(mod.authFetch("/x"));`,
      outcomes: "valid,valid,UNTRUSTED_ORIGIN,UNTRUSTED_ORIGIN",
    };
  },
  'configure({ exportEnv: "none" })': (host, { token }) => ({
    env: { ACCESS_TOKEN: token },
    file: { API_BASE_URL: host },
    script: `await attempt(mod.authFetch("/x")); mod.status();
      mod.configure({ exportEnv: "none" }); await attempt(mod.authFetch("/x"));`,
    outcomes: "UNTRUSTED_ORIGIN,NO_SESSION",
  }),
  "unusable tokens in the file": (host, { sandbox: { apiUrl, authUrl }, token }) => ({
    env: { AUTH_URL: authUrl, ACCESS_TOKEN: token },
    file: {
      API_BASE_URL: host,
      REFRESH_TOKEN: "x",
      AUTH_SESSION: "provider:https%3A%2F%2Fother.example",
    },
    script: `mod.configure({ apiBaseUrl: "${apiUrl}" });
      await attempt(mod.authFetch("/v1/whoami"));
      mod.configure({}); await attempt(mod.authFetch("/x"));`,
    outcomes: "200,NO_SESSION",
  }),
  "an origin that is added later": (host, { sandbox, token }) => ({
    env: { API_BASE_URL: sandbox.apiUrl, ACCESS_TOKEN: token },
    file: { MINE: "1" },
    script: `await attempt(mod.authFetch("/v1/whoami"));
      Deno.writeTextFileSync(".env", "API_ALLOWED_ORIGINS=${host}\\n");
      await attempt(mod.authFetch("${host}/x")); mod.status();
      await attempt(mod.authFetch("${host}/x"));`,
    outcomes: "200,UNTRUSTED_ORIGIN,UNTRUSTED_ORIGIN",
  }),
  "login({ portalToken }) without a prompt": (host, { token }) => ({
    env: { ACCESS_TOKEN: token },
    file: { API_BASE_URL: host },
    script: `await attempt(mod.login({ portalToken: "${token}" }));
      await attempt(mod.authFetch("/x")); mod.status(); await attempt(mod.authFetch("/x"));`,
    outcomes: "valid,UNTRUSTED_ORIGIN,UNTRUSTED_ORIGIN",
  }),
  "logout({ everywhere: true }) with a portal string": (host, { own, sandbox, token }) => ({
    env: { API_BASE_URL: sandbox.apiUrl },
    file: { ...own, AUTH_URL: host },
    script: `await attempt(mod.login({ portalToken: "${token}" }));
      await attempt(mod.authFetch("/v1/whoami"));
      await attempt(mod.logout({ everywhere: true }).then(({ ended }) => ({ state: ended })));`,
    outcomes: "valid,200,here",
  }),
};

for (const [title, tell] of Object.entries(STORIES)) {
  Deno.test(`a token from the environment is not sent to the hosts in a .env that was found by search: ${title}`, () =>
    inWorld(async (world) => {
      await using stranger = record();
      const { env, file, script, outcomes } = await tell(stranger.origin, world);
      await writeEnv(world.folder, file);
      const source = `
        const outcomes = [];
        const attempt = (call) => call.then(async (it) => {
          await it.body?.cancel();
          outcomes.push(it.status ?? it.state);
        }, (error) => outcomes.push(error.code ?? error.name));
        ${script}
        console.log(outcomes.join());`;
      assertEquals(await world.run(source, env), outcomes);
      assertEquals(stranger.requests.length, 0);
      // The token of the environment is not saved in a file that was found by search.
      const saved = await Deno.readTextFile(`${world.folder}/.env`);
      assertEquals(saved.includes(world.token), false);
    }));
}

Deno.test("a token in a .env found by search does not replace the token in the environment", () =>
  inWorld(async ({ folder, own, run, token }) => {
    const [, claims = ""] = token.split(".");
    const bytes = Uint8Array.fromBase64(claims, { alphabet: "base64url" });
    const payload = JSON.parse(new TextDecoder().decode(bytes));
    await writeEnv(folder, { ...own, ACCESS_TOKEN: jwt({ ...payload, iat: payload.iat + 60 }) });
    const script = `
      const isOwn = () => Deno.env.get("ACCESS_TOKEN") === ${JSON.stringify(token)};
      console.log(mod.status().state, isOwn());
      await mod.logout({ revoke: false });
      console.log(isOwn());`;
    assertEquals(await run(script, { ACCESS_TOKEN: token }), "valid true\ntrue");
  }));

const CALL = `console.log((await mod.fetchJson("/v1/whoami")).username);`;

Deno.test("login() uses a .env found by search if the environment's token is expired or superseded", () =>
  inWorld(async ({ folder, run, sandbox, token }) => {
    const { clientId, username } = sandbox.settings;
    const expired = jwt({ client_id: clientId, username, iat: 1_000, exp: 2_000 });
    await writeEnv(folder, variablesOf(sandbox.settings));
    // In the second run, the file contains a session.
    for (const ACCESS_TOKEN of [expired, token]) {
      assertEquals(await run(`await mod.login(); ${CALL}`, { ACCESS_TOKEN }), "student");
    }
  }));

Deno.test("hosts in a .env found by search may receive a password that the code passes", () =>
  inWorld(async ({ folder, own, run, sandbox: { settings } }) => {
    await writeEnv(folder, own);
    const account = { username: settings.username, password: settings.password };
    const script = `mod.configure(${JSON.stringify(account)});
      await mod.login(); ${CALL}`;
    assertEquals(await run(script), "student");
  }));

const STRANGER = { username: "mallory", password: "Mallory-Password-1" };

/** The lines of a session of the stranger, at the user's own provider. */
function strangersLines({ sandbox }: World): Promise<Variables> {
  sandbox.addUser(STRANGER);
  return linesOfLogin({ ...sandbox.settings, ...STRANGER });
}

/** Lines that a stranger may leave in the file, and the code of a call. */
const PLANTED: [
  what: string,
  lines: (stranger: Variables, clientId: string) => Variables,
  code: string,
][] = [
  ["an access token", ({ ACCESS_TOKEN = "" }) => ({ ACCESS_TOKEN }), "NO_SESSION"],
  ["a refresh token", ({ REFRESH_TOKEN = "" }) => ({ REFRESH_TOKEN }), "NO_SESSION"],
  [
    "a session with the user's name in another line",
    (stranger) => ({ ...stranger, AUTH_SESSION: "name:student" }),
    "NO_SESSION",
  ],
  [
    "a refresh token with an expired token of the user",
    ({ REFRESH_TOKEN = "" }, clientId) => ({
      ACCESS_TOKEN: jwt({ client_id: clientId, username: "student", exp: 2_000 }),
      REFRESH_TOKEN,
      AUTH_SESSION: "name:mallory",
    }),
    "REFRESH_REJECTED",
  ],
];
for (const [what, lines, code] of PLANTED) {
  Deno.test(`no call is made as the stranger whose tokens are in a .env found by search, if the user has set a password: ${what}`, () =>
    inWorld(async (world) => {
      const { folder, run, sandbox: { settings } } = world;
      const planted = lines(await strangersLines(world), settings.clientId);
      const env = variablesOf(settings);
      const { username, password } = settings;
      const after = async (script: string, variables = env) => {
        await writeEnv(folder, planted);
        const source = `try { ${script} } catch ({ code }) { console.log(code); }`;
        return await run(source, variables);
      };
      assertEquals(await after(CALL), code);
      assertEquals(await after(`await mod.login(); ${CALL}`), username);
      // The credentials may also be set after the session was read.
      const later = `mod.status();
        mod.configure(${JSON.stringify({ username, password })}); ${CALL}`;
      assertEquals(await after(later, { ...env, USERNAME: "", PASSWORD: "" }), code);
    }));
}

Deno.test("a stranger's session is ignored and reported, unless the file is specified or has the user's password", () =>
  inWorld(async (world) => {
    const { folder, run, sandbox: { settings } } = world;
    const lines = await strangersLines(world);
    await writeEnv(folder, lines);
    const script = `const { state, notices } = mod.status();
      console.log(state, notices.map(({ code }) => code).join());`;
    const env = variablesOf(settings);
    assertEquals(await run(script, env), "none STORED_IGNORED");
    const named = { ...env, AUTH_ENV_FILE: `${folder}/.env` };
    assertEquals(await run(script, named), "valid");
    // A stranger does not know the password.
    await writeEnv(folder, { ...lines, PASSWORD: settings.password });
    assertEquals(await run(script, env), "valid");
  }));

Deno.test("two processes share a session in a .env found by search, with an e-mail address in USERNAME", () =>
  inWorld(async ({ folder, run, sandbox: { settings } }) => {
    const other = `import { login } from ${JSON.stringify(MOD_PATH)};
      await login({ force: true });`;
    await Deno.writeTextFile(`${folder}/other.ts`, other);
    const script = `await mod.login();
      const args = ["run", "--quiet", "--no-lock", "-A", "other.ts"];
      await new Deno.Command(Deno.execPath(), { args }).output();
      console.log(mod.status().source, mod.status().username);`;
    const [source, username] = (await run(script, variablesOf(settings))).split(" ");
    assertEquals(source, "file");
    assertNotEquals(username, settings.username);
  }, { aliasSignIn: true }));
