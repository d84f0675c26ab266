import { fileURLToPath } from "node:url";
import { accessToken, AuthError, authFetch, logout, status } from "../../mod.ts";
import { answerText, type DemoStep, errorText } from "./step.ts";
import { readEnv } from "./world.ts";

const SECOND_PROCESS = fileURLToPath(new URL("./second_process.ts", import.meta.url));
const SECOND_PROCESS_LIMIT_MS = 60_000;

const expiry: DemoStep = {
  name: "expiry",
  title: "The access token ends",
  text:
    "Here it is good for five minutes. The clock of the demo is moved six minutes on; meanwhile " +
    "nothing works in the background.",
  broken: "the clock stands still",
  breakWorld(world) {
    world.passTime = () => {};
  },
  async walk({ passTime, sandbox }, transcript) {
    const oldToken = await accessToken();
    const askedBefore = sandbox.requests.length;
    await transcript.run("// six minutes later", passTime);
    const ended = await transcript.run("status()", status, Deno.inspect);
    transcript.holds("the session is to be refreshed", ended.state, "refreshable");
    const headers = { authorization: `bearer ${oldToken}` };
    const answer = await transcript.run(
      "await fetch(`${sandbox.apiUrl}/v1/whoami`, { headers }) // with the old token",
      () => fetch(`${sandbox.apiUrl}/v1/whoami`, { headers }),
      answerText,
    );
    transcript.holds("the API refuses the old token", answer.status, 401);
    transcript.holds("the provider was not asked", sandbox.requests.length - askedBefore, 0);
  },
};

const refresh: DemoStep = {
  name: "refresh",
  title: "The next calls refresh it, once",
  text:
    "20 calls at the same time share one refresh. This provider replaces the refresh token with " +
    "each use, so that a second refresh with the old one would be refused.",
  broken: "the provider revokes the refresh token",
  breakWorld({ sandbox }) {
    sandbox.revokeRefreshTokens();
  },
  async walk(world, transcript) {
    const { sandbox } = world;
    const askedBefore = sandbox.requests.length;
    const { REFRESH_TOKEN: before } = readEnv(world);
    const answers = await transcript.run(
      'await Promise.all(Array.from({ length: 20 }, () => authFetch("/v1/stations")))',
      () => Promise.all(Array.from({ length: 20 }, () => authFetch("/v1/stations"))),
    );
    await Promise.all(answers.map((each) => each.body?.cancel()));
    const refreshed = await transcript.run("status()", status, Deno.inspect);
    transcript.holds("the session is valid again", refreshed.state, "valid");
    transcript.holds("all 20 calls succeeded", answers.filter((each) => each.ok).length, 20);
    const flows = sandbox.requests.slice(askedBefore).map((each) => each.authFlow);
    transcript.holds("the provider saw one refresh", flows, ["REFRESH_TOKEN_AUTH"]);
    const { REFRESH_TOKEN: after } = readEnv(world);
    const kept = after === undefined ? "no token" : after === before ? "the old one" : "a new one";
    transcript.holds("the .env has the new refresh token", kept, "a new one");
  },
};

const resume: DemoStep = {
  name: "resume",
  title: "Another process goes on",
  text:
    "A script that is started later finds the session in the .env of its folder. It may read no " +
    "environment variable, and there is no password in the .env, so it could not log in.",
  broken: "the .env is deleted",
  breakWorld({ envFile }) {
    Deno.removeSync(envFile);
  },
  async walk({ folder, sandbox, stationCount }, transcript) {
    const askedBefore = sandbox.requests.length;
    const seen = await transcript.run(
      "deno run --allow-read=. --allow-net=127.0.0.1 demo_second_process.ts",
      () => runSecondProcess(folder),
      (output) => output,
    );
    const expected = `${stationCount} stations, session from the file`;
    transcript.holds("the script calls the API with the session of the .env", seen, expected);
    transcript.holds("the provider was not asked", sandbox.requests.length - askedBefore, 0);
  },
};

/** Runs the script in a process of its own; gives what it printed, or the first line of its error. */
async function runSecondProcess(folder: string): Promise<string> {
  const own = Deno.execPath();
  // A permission for "deno" does not cover its path where that is a link.
  const { state } = Deno.permissions.querySync({ name: "run", command: own });
  const { success, stdout, stderr } = await new Deno.Command(state === "granted" ? own : "deno", {
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
  text: "The tokens go from memory and from the .env; its other lines stay as they were.",
  broken: "a folder stands where the .env was",
  breakWorld({ envFile }) {
    Deno.removeSync(envFile);
    Deno.mkdirSync(envFile);
  },
  async walk(world, transcript) {
    const { envFile, envText, sandbox } = world;
    const calledBefore = sandbox.apiRequests.length;
    await transcript.run("await logout()", () => logout());
    await transcript.run("status()", status, Deno.inspect);
    const keys = Object.keys(readEnv(world)).filter((key) => /TOKEN|AUTHENTICATED/.test(key));
    transcript.holds("the .env holds no token", keys, []);
    const same = Deno.readTextFileSync(envFile) === envText ? "the same" : "changed";
    transcript.holds("its other lines are the same as before the first login", same, "the same");
    const outcome = await transcript.run(
      'await authFetch("/v1/stations")',
      () => authFetch("/v1/stations").catch((error: unknown) => error),
      (seen) => seen instanceof Response ? answerText(seen) : errorText(seen),
    );
    const code = outcome instanceof AuthError ? outcome.code : "another outcome";
    transcript.holds("the next call says that there is no session", code, "NO_SESSION");
    transcript.holds("nothing was sent", sandbox.apiRequests.length - calledBefore, 0);
  },
};

/** How a session goes on and ends. */
export const SESSION_STEPS: readonly DemoStep[] = [expiry, refresh, resume, end];
