import type { Check } from "../display/diagnosis.ts";
import { environment } from "../runtime/environment.ts";

/** Which requests go through a proxy. Its address is not shown: it may hold a password. */
export function checkProxy(...urls: (URL | null)[]): Check[] {
  const ways = urls.flatMap((url) => {
    const variable = url === null ? undefined : proxyVariable(url);
    return url === null || variable === undefined ? [] : [{ variable, host: url.hostname }];
  });
  if (ways.length === 0) return [];
  const variables = [...new Set(ways.map(({ variable }) => variable))].join(", ");
  const hosts = [...new Set(ways.map(({ host }) => host))];
  return [{
    name: "proxy",
    level: "warn",
    message: `requests to ${hosts.join(", ")} go through the proxy in ${variables}`,
    fix: `if that is not wanted, add ${hosts.join(",")} to NO_PROXY`,
  }];
}

/** The variable that sends a request through a proxy, if one does. */
function proxyVariable(url: URL): string | undefined {
  // Plain http: is loopback, which is reached directly.
  if (url.protocol !== "https:") return undefined;
  if (isExempt(url.hostname, environment("NO_PROXY") ?? environment("no_proxy") ?? "")) {
    return undefined;
  }
  return ["ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy"].find(environment);
}

function isExempt(hostname: string, list: string): boolean {
  return list.split(",").map((entry) => entry.trim().replace(/^\*?\./, "")).some((entry) =>
    entry === "*" || entry === hostname || (entry !== "" && hostname.endsWith(`.${entry}`))
  );
}
