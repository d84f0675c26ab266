/**
 * Code that the compiler must reject. Each line below a `@ts-expect-error` is an error, or the
 * check fails.
 */
import {
  type ConfigError,
  configure,
  createSession,
  download,
  fetchJson,
  login,
  parsePortalToken,
  refresh,
  status,
} from "../../../mod.ts";
import { table } from "../../../src/notebook/mod.ts";
import { startSandbox } from "../../../src/sandbox/mod.ts";

// @ts-expect-error -- no such strategy
login({ strategy: "browser" });
// @ts-expect-error -- options, not a token
login("bearer eyJ");
// @ts-expect-error -- refresh takes no token
refresh({ refreshToken: "x" });
// @ts-expect-error -- envFile is a path, a URL or false
configure({ envFile: true });
// @ts-expect-error -- only the default session can be configured
createSession().configure({});
// @ts-expect-error -- a string is needed
parsePortalToken(undefined);
// @ts-expect-error -- a status contains no token
status().accessToken;
// @ts-expect-error -- the expiry may be undefined
status().accessTokenExpiresAt.getTime();
declare const error: ConfigError;
// @ts-expect-error -- the code belongs to another class
error.code === "TIMEOUT";
// @ts-expect-error -- the option is ifExists
download("/v1/file", "file", { overwrite: true });
// @ts-expect-error -- the body is an array
(await fetchJson<{ name: string }[]>("/v1/stations")).name;
// @ts-expect-error -- no such option of the sandbox
startSandbox({ expiresIn: 5 });
// @ts-expect-error -- no row has this column
table([{ id: 1, name: "a" }], { columns: ["nam"] });
