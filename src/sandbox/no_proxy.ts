const LOOPBACK = ["127.0.0.1", "localhost"];

/** Keeps a proxy of the environment from swallowing loopback requests; the list there is kept. */
export function bypassProxyForLoopback(): void {
  for (const variable of ["NO_PROXY", "no_proxy"]) {
    if (Deno.permissions.querySync({ name: "env", variable }).state !== "granted") continue;
    const listed = (Deno.env.get(variable) ?? "").split(",").map((host) => host.trim())
      .filter((host) => host !== "");
    const missing = LOOPBACK.filter((host) => !listed.includes(host));
    if (missing.length > 0) Deno.env.set(variable, [...listed, ...missing].join(","));
  }
}
