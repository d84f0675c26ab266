import { parseEnv } from "node:util";
import { authFetch, login, status } from "../../mod.ts";
import { answerText, type DemoStep } from "./step.ts";
import { readEnv } from "./context.ts";

const TOKEN_KEYS = ["ACCESS_TOKEN", "ACCESS_TOKEN_EXPIRES_AT", "AUTHENTICATED_AT", "REFRESH_TOKEN"];

const portal: DemoStep = {
  name: "portal",
  title: "Log in with a token from the portal",
  text:
    'In the portal, the user menu has "Copy Token", which copies a string. A login with it needs ' +
    "no other setting. Such a session cannot be refreshed.",
  fault: "the last 10 characters of the copied string are missing",
  causeFault(context) {
    const { copyToken } = context;
    context.copyToken = async () => (await copyToken()).slice(0, -10);
  },
  async run({ copyToken, sandbox }, transcript) {
    const portalToken = await transcript.run(
      "const portalToken = await sandbox.portalToken()",
      copyToken,
      (pasted) => `bearer <access token, ${pasted.length - "bearer ".length} characters>`,
    );
    const signedIn = await transcript.run(
      "await login({ portalToken })",
      () => login({ portalToken }),
      Deno.inspect,
    );
    const answer = await transcript.run(
      'await authFetch("/v1/whoami")',
      () => authFetch("/v1/whoami"),
      answerText,
    );
    transcript.check("the session came from the portal", signedIn.source, "portal");
    transcript.check("the API accepts the token", answer.status, 200);
    transcript.check("no request went to the provider", sandbox.requests.length, 0);
  },
};

const password: DemoStep = {
  name: "login",
  title: "Log in with user name and password",
  text:
    "This login also gets a refresh token, so the session lasts longer than its access token. " +
    "Both tokens are saved in the .env; the password is not.",
  fault: "the password is wrong",
  causeFault(context) {
    context.password = `not ${context.password}`;
  },
  async run(context, transcript) {
    const { username, password } = context;
    await transcript.run(
      "await login({ username, password })",
      () => login({ username, password }),
    );
    const signedIn = await transcript.run("status()", status, Deno.inspect);
    transcript.check("the session came from the password", signedIn.source, "password");
    transcript.check("it can be refreshed", signedIn.canRefresh, true);
    const settings = parseEnv(context.envText);
    const added = Object.keys(readEnv(context)).filter((key) => !(key in settings)).sort();
    transcript.check(`the .env also holds ${TOKEN_KEYS.join(", ")}`, added, TOKEN_KEYS);
  },
};

const calls: DemoStep = {
  name: "calls",
  title: "Call the API",
  text: "authFetch() is fetch() that adds the token: same arguments, same answer.",
  fault: "the API answers 503",
  causeFault({ sandbox }) {
    sandbox.failures.push({ at: "api", status: 503 });
  },
  async run(context, transcript) {
    const stations = await transcript.run(
      'const stations = await authFetch("/v1/stations")',
      () => authFetch("/v1/stations"),
      answerText,
    );
    const whoami = await transcript.run(
      'const whoami = await authFetch("/v1/whoami")',
      () => authFetch("/v1/whoami"),
      answerText,
    );
    transcript.check("both calls are answered with 200", [stations.status, whoami.status], [
      200,
      200,
    ]);
    transcript.check("the API knows the user", (await whoami.json()).username, context.username);
    context.stationCount = (await stations.json()).length;
  },
};

/** How a session begins. */
export const SIGN_IN_STEPS: readonly DemoStep[] = [portal, password, calls];
