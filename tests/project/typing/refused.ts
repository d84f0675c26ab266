/**
 * Code that the compiler must reject. Each line below a `@ts-expect-error` is an error, or the
 * check fails.
 */
import {
  accessToken,
  authFetch,
  computeSecretHash,
  type ConfigError,
  configure,
  createSession,
  download,
  downloadAll,
  fetchJson,
  login,
  parsePortalToken,
  refresh,
  status,
} from "../../../mod.ts";
import { table } from "../../../src/notebook/mod.ts";
import { startSandbox } from "../../../src/sandbox/mod.ts";

// @ts-expect-error -- no such option
login({ portal: 1 });
// @ts-expect-error -- no such strategy
login({ strategy: "browser" });
// @ts-expect-error -- options, not a token
login("bearer eyJ");
// @ts-expect-error -- refresh takes no token
refresh({ refreshToken: "x" });
// @ts-expect-error -- minValidSeconds is a number
accessToken({ minValidSeconds: "60" });
// @ts-expect-error -- configure() needs options
configure();
// @ts-expect-error -- an object must have all three properties
configure({ provider: { service: "Service" } });
// @ts-expect-error -- envFile is a path, a URL or false
configure({ envFile: true });
// @ts-expect-error -- a store needs lock()
createSession({ store: { read: () => Promise.resolve(undefined) } });
// @ts-expect-error -- only the default session can be configured
createSession().configure({});
// @ts-expect-error -- a path or URL is needed
authFetch();
// @ts-expect-error -- the secret is missing
computeSecretHash("user", "client");
// @ts-expect-error -- a string is needed
parsePortalToken(undefined);
// @ts-expect-error -- a status contains no token
status().accessToken;
// @ts-expect-error -- there is no such state
status().state === "refreshing";
// @ts-expect-error -- the expiry may be undefined
status().accessTokenExpiresAt.getTime();
// @ts-expect-error -- a promise has no state
login().state;
declare const error: ConfigError;
// @ts-expect-error -- the code belongs to another class
error.code === "TIMEOUT";
// @ts-expect-error -- codes are read-only
error.code = "PERMISSION";
// @ts-expect-error -- the option is ifExists
download("/v1/file", "file", { overwrite: true });
// @ts-expect-error -- the option is concurrency
downloadAll([], { at: 8 });
// @ts-expect-error -- random is not a public option
createSession({ random: () => 0 });
// @ts-expect-error -- the body is an array
(await fetchJson<{ name: string }[]>("/v1/stations")).name;
// @ts-expect-error -- a file is needed
download("/v1/file");
// @ts-expect-error -- no such option of the sandbox
startSandbox({ expiresIn: 5 });
// @ts-expect-error -- no row has this column
table([{ id: 1, name: "a" }], { columns: ["nam"] });
