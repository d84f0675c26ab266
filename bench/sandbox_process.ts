/** Runs the sandbox until it is killed; prints its settings as one line of JSON. */
import { startSandbox, type StartSandboxOptions } from "../src/sandbox/mod.ts";

const options: StartSandboxOptions = JSON.parse(Deno.args[0] ?? "{}");
const sandbox = await startSandbox(options);
const { authUrl, provider, clientId, clientSecret, userPoolId, username, password, apiBaseUrl } =
  sandbox.settings;
console.log(JSON.stringify({
  AUTH_URL: authUrl,
  AUTH_PROVIDER: provider,
  APP_CLIENT_ID: clientId,
  APP_CLIENT_SECRET: clientSecret,
  USER_POOL_ID: userPoolId,
  USERNAME: username,
  PASSWORD: password,
  API_BASE_URL: apiBaseUrl,
}));
