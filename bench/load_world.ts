import type { SessionOptions } from "../mod.ts";
import { type Server, startServer } from "./processes.ts";

/** The load server, and the settings with which a session uses it. */
export interface LoadWorld extends AsyncDisposable {
  readonly url: string;
  readonly options: SessionOptions;
  /** The settings as environment variables. */
  readonly variables: Readonly<Record<string, string>>;
  /** The settings as lines of a `.env`. */
  readonly lines: string;
  /** The number of requests to the token endpoint so far. */
  tokenRequests(): Promise<number>;
}

/** @param words `rotate`: each refresh token is valid for one refresh, without a grace period. */
export async function startLoadWorld(...words: "rotate"[]): Promise<LoadWorld> {
  const server: Server<{ url: string }> = await startServer("load_server.ts", words);
  const { url } = server.hello;
  const variables = {
    AUTH_URL: url,
    APP_CLIENT_ID: "bench-client",
    APP_CLIENT_SECRET: "bench-secret-of-no-value",
    USER_POOL_ID: "bench_Pool",
    USERNAME: "bench",
    PASSWORD: "bench-password",
    API_BASE_URL: url,
  };
  return {
    url,
    options: {
      authUrl: url,
      clientId: variables.APP_CLIENT_ID,
      clientSecret: variables.APP_CLIENT_SECRET,
      userPoolId: variables.USER_POOL_ID,
      username: variables.USERNAME,
      password: variables.PASSWORD,
      apiBaseUrl: url,
      envFile: false,
    },
    variables,
    lines: Object.entries(variables).map(([name, value]) => `${name}=${value}\n`).join(""),
    async tokenRequests() {
      return (await (await fetch(`${url}/count`)).json()).tokenRequests;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
