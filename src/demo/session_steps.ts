import { fileURLToPath } from "node:url";
import { accessToken, AuthError, authFetch, logout, status } from "../../mod.ts";
import { answerText, type DemoStep, errorText } from "./step.ts";
import { readEnv } from "./context.ts";

const SECOND_PROCESS = fileURLToPath(new URL("./second_process.ts", import.meta.url));
const SECOND_PROCESS_LIMIT_MS = 60_000;

const expiry: DemoStep = {
  name: "expiry",
  title: "The access token expires",
  text: "In this demo it is valid for five minutes. Now the clock of the demo moves six minutes " +
    "ahead. Nothing refreshes the token in the background.",
  fault: "no time passes",
  causeFault(context) {
    context.passTime = () => {};
  },
  async run({ passTime, sandbox }, transcript) {
    const oldToken = await accessToken();
    const askedBefore = sandbox.requests.length;
    await transcript.run("// six minutes later", passTime);
    const expired = await transcript.run("status()", status, Deno.inspect);
    transcript.check("the session can be refreshed", expired.state, "refreshable");
    const headers = { authorization: `bearer ${oldToken}` };
    const answer = await transcript.run(
      "await fetch(`${sandbox.apiUrl}/v1/whoami`, { headers }) // with the old token",
      () => fetch(`${sandbox.apiUrl}/v1/whoami`, { headers }),
      answerText,
    );
    transcript.check("the API rejects the old token", answer.status, 401);
    transcript.check("no request went to the provider", sandbox.requests.length - askedBefore, 0);
  },
};

const refresh: DemoStep = {
  name: "refresh",
  title: "The next calls refresh the token, once",
  text:
    "20 calls at the same time share one refresh. This provider gives a new refresh token each " +
    "time and rejects the old one from then on, so a second refresh would fail.",
  fault: "the provider revokes the refresh token",
  causeFault({ sandbox }) {
    sandbox.revokeRefreshTokens();
  },
  async run(context, transcript) {
    const { sandbox } = context;
    const askedBefore = sandbox.requests.length;
    const { REFRESH_TOKEN: before } = readEnv(context);
    const answers = await transcript.run(
      'await Promise.all(Array.from({ length: 20 }, () => authFetch("/v1/stations")))',
      () => Promise.all(Array.from({ length: 20 }, () => authFetch("/v1/stations"))),
    );
    await Promise.all(answers.map((each) => each.body?.cancel()));
    const refreshed = await transcript.run("status()", status, Deno.inspect);
    transcript.check("the session is valid again", refreshed.state, "valid");
    transcript.check("all 20 calls succeeded", answers.filter((each) => each.ok).length, 20);
    const flows = sandbox.requests.slice(askedBefore).map((each) => each.authFlow);
    transcript.check("one refresh went to the provider", flows, ["REFRESH_TOKEN_AUTH"]);
    const { REFRESH_TOKEN: after } = readEnv(context);
    const kept = after === undefined ? "no token" : after === before ? "the old one" : "a new one";
    transcript.check("the .env has the new refresh token", kept, "a new one");
  },
};

const resume: DemoStep = {
  name: "resume",
  title: "Another process continues the session",
  text:
    "A script that starts later finds the session in the .env of its folder. It could not log " +
    "in: there is no password in the .env, and it may not read environment variables.",
  fault: "the .env is deleted",
  causeFault({ envFile }) {
    Deno.removeSync(envFile);
  },
  async run({ folder, sandbox, stationCount }, transcript) {
    const askedBefore = sandbox.requests.length;
    const seen = await transcript.run(
      "deno run --allow-read=. --allow-net=127.0.0.1 second_process.ts",
      () => runSecondProcess(folder),
      (output) => output,
    );
    const expected = `${stationCount} stations, session from the file`;
    transcript.check("the script calls the API with the session from the .env", seen, expected);
    transcript.check("no request went to the provider", sandbox.requests.length - askedBefore, 0);
  },
};

/** Runs the script in a process of its own; gives what it printed, or the first line of its error. */
async function runSecondProcess(folder: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--allow-read=.", "--allow-net=127.0.0.1", SECOND_PROCESS],
    cwd: folder,
    env: { NO_COLOR: "1" },
    stdin: "null",
    signal: AbortSignal.timeout(SECOND_PROCESS_LIMIT_MS),
  }).output();
  const [firstLine = ""] = new TextDecoder().decode(success ? stdout : stderr).split("\n");
  return firstLine;
}

const end: DemoStep = {
  name: "logout",
  title: "Log out",
  text:
    "The tokens are deleted from memory and from the .env. Its other lines stay as they were. " +
    "Then the provider revokes the refresh token.",
  fault: "a folder is in the place of the .env",
  causeFault({ envFile }) {
    Deno.removeSync(envFile);
    Deno.mkdirSync(envFile);
  },
  async run(context, transcript) {
    const { envFile, envText, sandbox } = context;
    const calledBefore = sandbox.apiRequests.length;
    await transcript.run("await logout()", () => logout());
    await transcript.run("status()", status, Deno.inspect);
    const keys = Object.keys(readEnv(context)).filter((key) => /TOKEN|AUTHENTICATED/.test(key));
    transcript.check("the .env holds no token", keys, []);
    const { operation, status: answer } = sandbox.requests.at(-1) ?? {};
    const told = `${operation} → ${answer}`;
    transcript.check("the provider revoked the refresh token", told, "RevokeToken → 200");
    const same = Deno.readTextFileSync(envFile) === envText ? "the same" : "changed";
    transcript.check("its other lines are the same as before the first login", same, "the same");
    const outcome = await transcript.run(
      'await authFetch("/v1/stations")',
      () => authFetch("/v1/stations").catch((error: unknown) => error),
      (seen) => seen instanceof Response ? answerText(seen) : errorText(seen),
    );
    const code = outcome instanceof AuthError ? outcome.code : "another outcome";
    transcript.check("the next call says that there is no session", code, "NO_SESSION");
    transcript.check("no request went to the API", sandbox.apiRequests.length - calledBefore, 0);
  },
};

/** How a session continues and ends. */
export const SESSION_STEPS: readonly DemoStep[] = [expiry, refresh, resume, end];
