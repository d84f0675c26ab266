/**
 * The demo that `deno task demo` runs: a session with a sandbox, step by step, each step checked.
 * Exit status: 0 all steps passed, 1 a step failed. It writes only to a temporary folder, which it
 * removes. It may import `mod.ts` and `src/sandbox/mod.ts`, as a user does, and nothing else of this
 * project.
 *
 * @module
 */
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseEnv } from "node:util";
import { accessToken, AuthError, authFetch, configure, login, logout, status } from "../../mod.ts";
import { type Sandbox, startSandbox } from "../sandbox/mod.ts";
import { answerText, CheckFailed, errorText, Transcript } from "./transcript.ts";

const TOKEN_KEYS = ["ACCESS_TOKEN", "ACCESS_TOKEN_EXPIRES_AT", "AUTHENTICATED_AT", "REFRESH_TOKEN"];

/** Starts the servers, configures the default session as a notebook does, and runs the steps. */
async function start(demo: Transcript): Promise<void> {
  demo.heading("A session with the data platform");
  demo.text(
    "This demo runs an identity provider, a portal and an API on this computer. A line after > is " +
      "code that was run, and ✓ is a check of what it did.",
  );
  // The clock begins six minutes in the past, because the second process has the real time.
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
  const { envFile, username, password } = sandbox.settings;
  const envText = settingsText(sandbox);
  Deno.writeTextFileSync(envFile, envText, { mode: 0o600 });
  // Read without the code that is shown.
  const readEnv = () => parseEnv(Deno.readTextFileSync(envFile));
  let stationCount = 0;

  await demo.step(
    "portal",
    "Log in with a token from the portal",
    'In the portal, the user menu has "Copy Token", which copies a string. A login with it needs ' +
      "no other setting. Such a session cannot be refreshed.",
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
      const answer = await demo.run(
        'await authFetch("/v1/whoami")',
        () => authFetch("/v1/whoami"),
        answerText,
      );
      demo.check("the session came from the portal", source, "portal");
      demo.check("the API accepts the token", answer.status, 200);
      demo.check("no request went to the provider", demo.requests.length, 0);
    },
  );

  await demo.step(
    "login",
    "Log in with user name and password",
    "This login also gets a refresh token, so the session lasts longer than its access token. " +
      "Both tokens are saved in the .env; the password is not.",
    async () => {
      await demo.run("await login({ username, password })", () => login({ username, password }));
      const { source, canRefresh } = await demo.run("status()", status, Deno.inspect);
      demo.check("the session came from the password", source, "password");
      demo.check("it can be refreshed", canRefresh, true);
      const settings = parseEnv(envText);
      const added = Object.keys(readEnv()).filter((key) => !(key in settings)).sort();
      demo.check(`the .env also holds ${TOKEN_KEYS.join(", ")}`, added, TOKEN_KEYS);
    },
  );

  await demo.step(
    "calls",
    "Call the API",
    "authFetch() is fetch() that adds the token: same arguments, same answer.",
    async () => {
      const stations = await demo.run(
        'const stations = await authFetch("/v1/stations")',
        () => authFetch("/v1/stations"),
        answerText,
      );
      const whoami = await demo.run(
        'const whoami = await authFetch("/v1/whoami")',
        () => authFetch("/v1/whoami"),
        answerText,
      );
      const both = [stations.status, whoami.status];
      demo.check("both calls are answered with 200", both, [200, 200]);
      demo.check("the API knows the user", (await whoami.json()).username, username);
      stationCount = (await stations.json()).length;
    },
  );

  await demo.step(
    "expiry",
    "The access token expires",
    "In this demo it is valid for five minutes. Now the clock of the demo moves six minutes " +
      "ahead. Nothing refreshes the token in the background.",
    async () => {
      const headers = { authorization: `bearer ${await accessToken()}` };
      await demo.run("// six minutes later", passTime);
      const { state } = await demo.run("status()", status, Deno.inspect);
      demo.check("the session can be refreshed", state, "refreshable");
      const answer = await demo.run(
        "await fetch(`${sandbox.apiUrl}/v1/whoami`, { headers }) // with the old token",
        () => fetch(`${sandbox.apiUrl}/v1/whoami`, { headers }),
        answerText,
      );
      demo.check("the API rejects the old token", answer.status, 401);
      demo.check("no request went to the provider", demo.requests.length, 0);
    },
  );

  await demo.step(
    "refresh",
    "The next calls refresh the token, once",
    "20 calls at the same time share one refresh. This provider gives a new refresh token each " +
      "time and rejects the old one from then on, so a second refresh would fail.",
    async () => {
      const { REFRESH_TOKEN: before } = readEnv();
      const answers = await demo.run(
        'await Promise.all(Array.from({ length: 20 }, () => authFetch("/v1/stations")))',
        () => Promise.all(Array.from({ length: 20 }, () => authFetch("/v1/stations"))),
      );
      await Promise.all(answers.map((each) => each.body?.cancel()));
      const { state } = await demo.run("status()", status, Deno.inspect);
      demo.check("the session is valid again", state, "valid");
      demo.check("all 20 calls succeeded", answers.filter((each) => each.ok).length, 20);
      const flows = demo.requests.map((each) => each.authFlow);
      demo.check("one refresh went to the provider", flows, ["REFRESH_TOKEN_AUTH"]);
      const { REFRESH_TOKEN: after } = readEnv();
      const kept = !after ? "no token" : after === before ? "the old one" : "a new one";
      demo.check("the .env has the new refresh token", kept, "a new one");
    },
  );

  await demo.step(
    "resume",
    "Another process continues the session",
    "A script that starts later finds the session in the .env of its folder. It could not log " +
      "in: there is no password in the .env, and it may not read environment variables.",
    async () => {
      const seen = await demo.run(
        "deno run --allow-read=. --allow-net=127.0.0.1 second_process.ts",
        () => runSecondProcess(fileURLToPath(new URL(".", pathToFileURL(envFile)))),
        (output) => output,
      );
      const expected = `${stationCount} stations, session from the file`;
      demo.check("the script calls the API with the session from the .env", seen, expected);
      demo.check("no request went to the provider", demo.requests.length, 0);
    },
  );

  await demo.step(
    "logout",
    "Log out",
    "The tokens are deleted from memory and from the .env. Its other lines stay as they were. " +
      "Then the provider revokes the refresh token.",
    async () => {
      await demo.run("await logout()", () => logout());
      await demo.run("status()", status, Deno.inspect);
      const tokens = Object.keys(readEnv()).filter((key) => /TOKEN|AUTHENTICATED/.test(key));
      demo.check("the .env holds no token", tokens, []);
      const { operation, status: answer } = demo.requests.at(-1) ?? {};
      const revoked = `${operation} → ${answer}`;
      demo.check("the provider revoked the refresh token", revoked, "RevokeToken → 200");
      const same = Deno.readTextFileSync(envFile) === envText ? "the same" : "changed";
      demo.check("its other lines are the same as before the first login", same, "the same");
      const outcome = await demo.run(
        'await authFetch("/v1/stations")',
        () => authFetch("/v1/stations").catch((error: unknown) => error),
        (seen) => seen instanceof Response ? answerText(seen) : errorText(seen),
      );
      const code = outcome instanceof AuthError ? outcome.code : "another outcome";
      demo.check("the next call says that there is no session", code, "NO_SESSION");
      demo.check("no request went to the API", demo.apiRequests.length, 0);
    },
  );
}

/** The `.env` of a user before the first login: settings, and no password. */
function settingsText({ settings }: Sandbox): string {
  return `# Settings of a subscription
AUTH_URL=${settings.authUrl}
AUTH_PROVIDER=${settings.provider}
APP_CLIENT_ID=${settings.clientId}
APP_CLIENT_SECRET=${settings.clientSecret}
USER_POOL_ID=${settings.userPoolId}
API_BASE_URL=${settings.apiBaseUrl}
`;
}

/** Runs the script in a process of its own; gives what it printed, or the first line of its error. */
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
  demo.end("Next: open notebooks/00_start.ipynb in Jupyter, or VS Code, and run it.");
} catch (error) {
  if (!(error instanceof CheckFailed)) throw error;
  demo.failure(error);
  Deno.exit(1);
}
Deno.exit();
