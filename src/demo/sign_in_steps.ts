import { parseEnv } from "node:util";
import { authFetch, login, status } from "../../mod.ts";
import { answerText, type DemoStep } from "./step.ts";
import { readEnv } from "./world.ts";

const TOKEN_KEYS = ["ACCESS_TOKEN", "ACCESS_TOKEN_EXPIRES_AT", "AUTHENTICATED_AT", "REFRESH_TOKEN"];

const portal: DemoStep = {
  name: "portal",
  title: "Sign in with the portal's token",
  text:
    'In the portal, "Copy Token" in the user menu puts a string on the clipboard. It needs no ' +
    "other setting, and it cannot be refreshed.",
  broken: "the string loses its end on the way from the portal",
  breakWorld(world) {
    const { copyToken } = world;
    world.copyToken = async () => (await copyToken()).slice(0, -10);
  },
  async walk({ copyToken, sandbox }, transcript) {
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
    transcript.holds("the session came from the portal", signedIn.source, "portal");
    transcript.holds("the API takes the token", answer.status, 200);
    transcript.holds("the provider was not asked", sandbox.requests.length, 0);
  },
};

const password: DemoStep = {
  name: "login",
  title: "Sign in with user name and password",
  text:
    "This also brings a refresh token, so that the session outlives its access token. Both are " +
    "kept in the .env; the password is not.",
  broken: "the password is wrong",
  breakWorld(world) {
    world.password = `not ${world.password}`;
  },
  async walk(world, transcript) {
    const { username, password } = world;
    await transcript.run(
      "await login({ username, password })",
      () => login({ username, password }),
    );
    const signedIn = await transcript.run("status()", status, Deno.inspect);
    transcript.holds("the session came from the password", signedIn.source, "password");
    transcript.holds("it can be refreshed", signedIn.canRefresh, true);
    const settings = parseEnv(world.envText);
    const added = Object.keys(readEnv(world)).filter((key) => !(key in settings)).sort();
    transcript.holds(`the .env also holds ${TOKEN_KEYS.join(", ")}`, added, TOKEN_KEYS);
  },
};

const calls: DemoStep = {
  name: "calls",
  title: "Call the API",
  text: "authFetch() is fetch() with the token: same arguments, same answer.",
  broken: "the API is down",
  breakWorld({ sandbox }) {
    sandbox.failures.push({ at: "api", status: 503 });
  },
  async walk(world, transcript) {
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
    transcript.holds("both are answered 200", [stations.status, whoami.status], [200, 200]);
    transcript.holds("the API knows the user", (await whoami.json()).username, world.username);
    world.stationCount = (await stations.json()).length;
  },
};

/** How a session begins. */
export const SIGN_IN_STEPS: readonly DemoStep[] = [portal, password, calls];
