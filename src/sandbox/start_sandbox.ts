import { checkOptions, checkPort, type StartSandboxOptions } from "./options.ts";
import { createSandbox, type Sandbox } from "./sandbox.ts";
import { type LoopbackServer, serveLoopback } from "./serve_loopback.ts";

const MIB = 1024 * 1024;

/**
 * Size limit of a request body in bytes, for the provider, the portal and the API. Only the API
 * accepts uploads.
 */
const BODY_LIMITS = [MIB, MIB, 64 * MIB];

const LOOPBACK = ["127.0.0.1", "localhost"];
// On Windows, names of environment variables ignore case, so both names are the same variable.
const NO_PROXY_NAMES = Deno.build.os === "windows" ? ["NO_PROXY"] : ["NO_PROXY", "no_proxy"];

/**
 * Starts the identity provider, the portal and the data platform API on 127.0.0.1, in this process.
 * The three servers respond only to requests for the hosts 127.0.0.1, localhost and [::1]. A
 * request body may have up to 1 MiB, or up to 64 MiB for the API.
 *
 * Needs net permission. Reading `settings` of the sandbox also needs write permission, for a
 * temporary folder. If env permission is granted, adds loopback to `NO_PROXY`, so that a company
 * proxy does not intercept requests to the sandbox. The change of `NO_PROXY` has no effect if the
 * process has already used `fetch`.
 *
 * @throws {TypeError} If an option is unknown or of the wrong type.
 * @throws {RangeError} If a number is out of its range.
 * @throws {Error} If a port is in use.
 *
 * @example
 * ```ts
 * import { createSession } from "@platform-auth/platform-auth";
 * import { startSandbox } from "@platform-auth/platform-auth/sandbox";
 *
 * await using sandbox = await startSandbox({ accessTokenSeconds: 300 });
 * const session = createSession(sandbox.settings);
 * await session.login();
 * const response = await session.authFetch("/v1/stations");
 * console.log((await response.json()).length > 0); // true
 * ```
 */
export async function startSandbox(options: StartSandboxOptions = {}): Promise<Sandbox> {
  const { port: firstPort, ...rest } = options;
  const port = checkPort(firstPort);
  checkOptions(rest);
  bypassProxyForLoopback();

  const servers: LoopbackServer[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.close()));
  };
  // The servers start before the sandbox is created, because the settings and the issuer of each
  // token contain their ports.
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

/** Adds loopback to the hosts that bypass the proxy. */
function bypassProxyForLoopback(): void {
  for (const variable of NO_PROXY_NAMES) {
    if (Deno.permissions.querySync({ name: "env", variable }).state !== "granted") continue;
    const listed = (Deno.env.get(variable) ?? "").split(",").map((host) => host.trim());
    const hosts = new Set([...listed.filter((host) => host !== ""), ...LOOPBACK]);
    Deno.env.set(variable, [...hosts].join(","));
  }
}
