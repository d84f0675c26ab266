import { checkOptions, checkPort, type StartSandboxOptions } from "./options.ts";
import { createSandbox, type Sandbox } from "./sandbox.ts";
import { type LoopbackServer, serveLoopback } from "./serve_loopback.ts";

const MIB = 1024 * 1024;

/** Largest body of a request to the provider, the portal and the API, which takes uploads. */
const BODY_LIMITS = [MIB, MIB, 64 * MIB];

const LOOPBACK = ["127.0.0.1", "localhost"];
// On Windows, variable names ignore case: both names are one variable.
const NO_PROXY_NAMES = Deno.build.os === "windows" ? ["NO_PROXY"] : ["NO_PROXY", "no_proxy"];

/**
 * Starts identity provider, portal and data platform API on 127.0.0.1, in this process. They answer
 * under the names 127.0.0.1 and localhost only, and take bodies of up to 1 MiB, the API of 64 MiB.
 *
 * Needs net permission. To read its `settings` also needs write permission, for a temporary folder.
 * Adds loopback to `NO_PROXY` if env permission is given, so that a company proxy does not get
 * these requests; this has no effect if the process has used `fetch` before.
 *
 * @throws {TypeError} An option is unknown or of the wrong type.
 * @throws {RangeError} A number is out of its range.
 * @throws {Error} A port is in use.
 *
 * @example
 * ```ts
 * import { createSession } from "../../mod.ts";
 *
 * await using sandbox = await startSandbox({ accessTokenSeconds: 300 });
 * const session = createSession(sandbox.settings);
 * await session.login();
 * const answer = await session.authFetch("/v1/stations");
 * console.log((await answer.json()).length > 0); // true
 * ```
 */
export async function startSandbox(options: StartSandboxOptions = {}): Promise<Sandbox> {
  const { port: firstPort = 0, ...rest } = options;
  const port = checkPort(firstPort);
  checkOptions(rest);
  bypassProxyForLoopback();

  const servers: LoopbackServer[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.close()));
  };
  // The servers start first: their ports are part of the settings and of each token's issuer.
  const started = Promise.withResolvers<Sandbox>();
  const handle = async (request: Request): Promise<Response> =>
    await (await started.promise).handle(request);
  try {
    for (const [index, bodyLimit] of BODY_LIMITS.entries()) {
      servers.push(await serveLoopback({ port: port === 0 ? 0 : port + index, bodyLimit, handle }));
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const [authUrl = "", portalUrl = "", apiUrl = ""] = servers.map((server) => server.origin);
  const sandbox = createSandbox(rest, { authUrl, portalUrl, apiUrl });
  started.resolve(sandbox);

  const closeSystems = sandbox.close;
  sandbox.close = async () => {
    await stop();
    await closeSystems();
  };
  return sandbox;
}

/** Adds loopback to the hosts that are reached without a proxy, and keeps the others. */
function bypassProxyForLoopback(): void {
  for (const variable of NO_PROXY_NAMES) {
    if (Deno.permissions.querySync({ name: "env", variable }).state !== "granted") continue;
    const listed = (Deno.env.get(variable) ?? "").split(",").map((host) => host.trim())
      .filter((host) => host !== "");
    const missing = LOOPBACK.filter((host) => !listed.includes(host));
    if (missing.length > 0) Deno.env.set(variable, [...listed, ...missing].join(","));
  }
}
