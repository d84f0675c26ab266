/**
 * The demo that `deno task demo` runs: a session with a sandbox, step by step, with a check after
 * each step. The exit status is 0 if all steps passed, otherwise 1. The demo writes only to a
 * temporary folder, which it removes. It imports only `mod.ts` and `src/sandbox/mod.ts`, as a user
 * would.
 *
 * @module
 */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import {
  accessToken,
  AuthError,
  authFetch,
  configure,
  fetchJson,
  login,
  logout,
  status,
} from "../../mod.ts";
import { type Sandbox, startSandbox } from "../sandbox/mod.ts";
import { CheckFailed, responseText, Transcript } from "./transcript.ts";

const TOKEN_KEYS = [
  "ACCESS_TOKEN",
  "REFRESH_TOKEN",
  "ACCESS_TOKEN_EXPIRES_AT",
  "AUTHENTICATED_AT",
  "AUTH_SESSION",
];

/** Starts the servers, configures the default session as a notebook does, and runs the steps. */
async function start(demo: Transcript): Promise<void> {
  console.log(`
A session with the data platform
   This demo runs an identity provider, a portal and an API on this computer. A line after > is
   code that was run, and ✓ is a check of its effect.`);
  // The demo's clock starts six minutes behind and later jumps to the real time. It must end at the
  // real time, because the second process uses the real clock.
  let behindMs = 6 * 60_000;
  const now = () => Date.now() - behindMs;
  await using sandbox = await demo.run(
    "const sandbox = await startSandbox({ accessTokenSeconds: 300, rotateRefreshTokens: true })",
    () => startSandbox({ accessTokenSeconds: 300, rotateRefreshTokens: true, now }),
    ({ authUrl, apiUrl }) => `identity provider ${authUrl} · API ${apiUrl}`,
  );
  demo.sandbox = sandbox;
  Deno.addSignalListener("SIGINT", () => void sandbox.close().finally(() => Deno.exit(130)));
  await demo.run(
    "configure(sandbox.settings)",
    () => configure({ ...sandbox.settings, now }),
    () => `the session will be saved in ${sandbox.settings.envFile}`,
  );
  await runSteps(demo, sandbox, () => {
    behindMs = 0;
  });
}

async function runSteps(demo: Transcript, sandbox: Sandbox, passTime: () => void): Promise<void> {
  const { settings, apiUrl } = sandbox;
  const { envFile, username, password } = settings;
  const envText = `# Settings of a subscription
AUTH_URL=${settings.authUrl}
AUTH_PROVIDER=${settings.provider}
APP_CLIENT_ID=${settings.clientId}
APP_CLIENT_SECRET=${settings.clientSecret}
USER_POOL_ID=${settings.userPoolId}
API_BASE_URL=${settings.apiBaseUrl}
`;
  Deno.writeTextFileSync(envFile, envText, { mode: 0o600 });
  const readEnv = () => parseEnv(Deno.readTextFileSync(envFile));
  const showStatus = () => demo.run("status()", status, Deno.inspect);
  const call = (path: string) =>
    demo.run(`await authFetch("${path}")`, () => authFetch(path), responseText);

  await demo.step(
    "Log in with a token from the portal",
    `"Copy Token" in the portal's user menu copies a string. A login with this string needs no
other setting, but its session cannot be refreshed.`,
    async () => {
      const portalToken = await demo.run(
        "const portalToken = await sandbox.portalToken()",
        () => sandbox.portalToken(),
        (copied) => `bearer <access token, ${copied.length - "bearer ".length} characters>`,
      );
      const { source } = await demo.run(
        "await login({ portalToken })",
        () => login({ portalToken }),
        Deno.inspect,
      );
      demo.check("the session came from the portal", source, "portal");
      demo.check("the API accepts the token", (await call("/v1/whoami")).status, 200);
    },
  );

  await demo.step(
    "Log in with user name and password",
    `This login also returns a refresh token, so the session outlives its access token. Both tokens are
saved in the .env; the password is not.`,
    async () => {
      await demo.run("await login({ username, password })", () => login({ username, password }));
      const { source, canRefresh } = await showStatus();
      demo.check("the session came from the password", source, "password");
      demo.check("it can be refreshed", canRefresh, true);
      const added = Object.keys(readEnv()).filter((key) => !(key in parseEnv(envText)));
      demo.check(
        `the .env also contains ${TOKEN_KEYS.join(", ")}`,
        added.sort(),
        TOKEN_KEYS.toSorted(),
      );
    },
  );

  await demo.step(
    "Call the API",
    "authFetch() is fetch() with the token added: same arguments, same response.",
    async () => {
      demo.check(
        "the API knows the user",
        (await (await call("/v1/whoami")).json()).username,
        username,
      );
      demo.check("the API sends data", (await call("/v1/stations")).status, 200);
    },
  );

  await demo.step(
    "The access token expires",
    `In this demo it is valid for five minutes. Now the clock of the demo moves six minutes ahead.
Nothing refreshes the token in the background.`,
    async () => {
      const headers = { authorization: `bearer ${await accessToken()}` };
      await demo.run("// six minutes later", passTime);
      demo.check("the session can be refreshed", (await showStatus()).state, "refreshable");
      const response = await demo.run(
        "await fetch(`${sandbox.apiUrl}/v1/whoami`, { headers }) // with the old token",
        () => fetch(`${apiUrl}/v1/whoami`, { headers }),
        responseText,
      );
      demo.check("the API rejects the old token", response.status, 401);
      demo.check("no request went to the provider", demo.received("requests").length, 0);
    },
  );

  await demo.step(
    "The next calls refresh the token, once",
    `20 simultaneous calls share one refresh. This provider returns a new refresh token each time and
rejects the old one from then on, so a second refresh would fail.`,
    async () => {
      const { REFRESH_TOKEN: before } = readEnv();
      const lists = await demo.run(
        'await Promise.all(Array.from({ length: 20 }, () => fetchJson("/v1/stations")))',
        () => Promise.all(Array.from({ length: 20 }, () => fetchJson("/v1/stations"))),
        () => "",
      );
      demo.check("all 20 calls succeeded", lists.length, 20);
      demo.check("the session is valid again", (await showStatus()).state, "valid");
      const flows = demo.received("requests").map((each) => each.authFlow);
      demo.check("one refresh went to the provider", flows, ["REFRESH_TOKEN_AUTH"]);
      const { REFRESH_TOKEN: after } = readEnv();
      demo.check(
        "the .env has the new refresh token",
        after !== undefined && after !== before,
        true,
      );
    },
  );

  await demo.step(
    "Another process continues the session",
    `A script that starts later finds the session in the .env of its folder. It cannot log in: the
.env contains no password, and the script is not allowed to read environment
variables.`,
    async () => {
      const seen = await demo.run(
        "deno run --allow-read=. --allow-net=127.0.0.1 second_process.ts",
        () => runSecondProcess(dirname(envFile)),
        (output) => output,
      );
      const expected = "6 stations, session from the file";
      demo.check("the script calls the API with the session from the .env", seen, expected);
      demo.check("no request went to the provider", demo.received("requests").length, 0);
    },
  );

  await demo.step(
    "Log out",
    `The tokens are deleted from memory and from the .env. Its other lines stay as they were. Then the
provider revokes the refresh token.`,
    async () => {
      await demo.run("await logout()", () => logout());
      await showStatus();
      const unchanged = Deno.readTextFileSync(envFile) === envText;
      demo.check("the .env is as it was before the first login", unchanged, true);
      const { operation, status: answer } = demo.received("requests").at(-1) ?? {};
      const revoked = `${operation} → ${answer}`;
      demo.check("the provider revoked the refresh token", revoked, "RevokeToken → 200");
      const error = await demo.run(
        'await authFetch("/v1/stations")',
        () => authFetch("/v1/stations").catch((error: unknown) => error),
        String,
      );
      const code = error instanceof AuthError ? error.code : "another outcome";
      demo.check("the next call says that there is no session", code, "NO_SESSION");
      demo.check("no request went to the API", demo.received("apiRequests").length, 0);
    },
  );
}

/** Runs the script in its own process. Returns its output, or the first line of its error. */
async function runSecondProcess(folder: string): Promise<string> {
  const script = fileURLToPath(new URL("./second_process.ts", import.meta.url));
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--allow-read=.", "--allow-net=127.0.0.1", script],
    cwd: folder,
    env: { NO_COLOR: "1" },
    stdin: "null",
    signal: AbortSignal.timeout(60_000),
  }).output();
  const [firstLine = ""] = new TextDecoder().decode(success ? stdout : stderr).split("\n");
  return firstLine;
}

const demo = new Transcript();
try {
  await start(demo);
  demo.end();
  console.log("   Next: open notebooks/00_start.ipynb in Jupyter or VS Code, and run it.");
} catch (error) {
  if (!(error instanceof CheckFailed)) throw error;
  demo.failure(error);
  Deno.exit(1);
}
Deno.exit();
