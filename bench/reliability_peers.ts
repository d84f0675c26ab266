/**
 * The clients that are exposed to the faults of `tests/provider/fault_cases.ts`. Only this file loads
 * the two from npm.
 */
import { AuthError, createSession, ProviderError } from "../mod.ts";
import type { FaultyProvider } from "../tests/provider/fault_cases.ts";

/** The outcome of a login or a refresh. */
export interface Result {
  /** `ok`, or the name or code by which a caller recognizes the error. */
  readonly outcome: string;
  /** The number of attempts, if the client reports it. */
  readonly attempts: number | undefined;
}

/** A client that is logged in. */
export interface Subject {
  run(operation: "login" | "refresh", url: string): Promise<Result>;
  /** The tokens that it keeps afterwards. */
  left(): string;
}

export type StartSubject = (provider: FaultyProvider, deadlineMs: number) => Promise<Subject>;

export const SUBJECTS: Readonly<Record<string, StartSubject>> = {
  "platform-auth": startOwn,
  "@aws-sdk/client-cognito-identity-provider": startAwsSdk,
  "amazon-cognito-identity-js": startIdentityJs,
};

async function startOwn(provider: FaultyProvider, timeoutMs: number): Promise<Subject> {
  const envFile = provider.sandbox.settings.envFile;
  const options = { ...provider.sandbox.settings, envFile, timeoutMs };
  await createSession({ ...options, authUrl: provider.url }).login();
  let session = createSession(options);
  return {
    async run(operation, authUrl) {
      session = createSession({ ...options, authUrl });
      try {
        await (operation === "login" ? session.login({ force: true }) : session.refresh());
        return { outcome: "ok", attempts: undefined };
      } catch (error) {
        const code = error instanceof AuthError ? error.code : String(error);
        const attempts = error instanceof ProviderError ? error.attempts : undefined;
        return { outcome: code, attempts };
      }
    },
    left() {
      const { state, canRefresh } = session.status();
      return canRefresh ? "both tokens" : state === "valid" ? "access token" : "nothing";
    },
  };
}

async function startAwsSdk(provider: FaultyProvider): Promise<Subject> {
  const { CognitoIdentityProviderClient, InitiateAuthCommand } = await import(
    "npm:@aws-sdk/client-cognito-identity-provider@^3"
  );
  const { clientId: ClientId, username, password } = provider.sandbox.settings;
  const login = { USERNAME: username, PASSWORD: password };
  const send = async (endpoint: string, flow: string, parameters: Record<string, string>) => {
    const credentials = { accessKeyId: "none", secretAccessKey: "none" };
    const client = new CognitoIdentityProviderClient({
      region: "eu-west-1",
      endpoint,
      credentials,
    });
    return await client.send(
      new InitiateAuthCommand({
        AuthFlow: flow === "login" ? "USER_PASSWORD_AUTH" : "REFRESH_TOKEN_AUTH",
        ClientId,
        AuthParameters: parameters,
      }),
    );
  };
  const first = await send(provider.url, "login", login);
  const token = first.AuthenticationResult?.RefreshToken ?? "";
  return {
    async run(operation, url) {
      const parameters = operation === "login" ? login : { REFRESH_TOKEN: token };
      try {
        const { AuthenticationResult, $metadata } = await send(url, operation, parameters);
        const outcome = AuthenticationResult ? "ok" : "ok, without tokens";
        return { outcome, attempts: $metadata.attempts };
      } catch (error) {
        return { outcome: nameOf(error), attempts: attemptsOf(error) };
      }
    },
    left: () => "keeps none",
  };
}

async function startIdentityJs(provider: FaultyProvider): Promise<Subject> {
  const { default: library } = await import("npm:amazon-cognito-identity-js@^6");
  const { AuthenticationDetails, CognitoUser, CognitoUserPool } = library;
  const { clientId: ClientId, userPoolId: UserPoolId, username, password } =
    provider.sandbox.settings;
  const kept = new Map<string, string>();
  const Storage = {
    setItem: (key: string, value: string) => void kept.set(key, value),
    getItem: (key: string) => kept.get(key) ?? null,
    removeItem: (key: string) => void kept.delete(key),
    clear: () => kept.clear(),
  };
  const userAt = (endpoint: string) => {
    const Pool = new CognitoUserPool({ UserPoolId, ClientId, endpoint, Storage });
    const user = new CognitoUser({ Username: username, Pool, Storage });
    user.setAuthenticationFlowType("USER_PASSWORD_AUTH");
    return user;
  };
  const login = (url: string) =>
    new Promise((onSuccess, onFailure) =>
      userAt(url).authenticateUser(
        new AuthenticationDetails({ Username: username, Password: password }),
        { onSuccess, onFailure },
      )
    );
  await login(provider.url);
  const refresh = (url: string) =>
    new Promise((done, failed) =>
      userAt(url).getSession((_: unknown, session: { getRefreshToken(): never } | null) => {
        if (session === null) return failed(new Error("no session"));
        userAt(url).refreshSession(
          session.getRefreshToken(),
          (error: unknown, next: unknown) => error ? failed(error) : done(next),
        );
      })
    );
  return {
    async run(operation, url) {
      try {
        await (operation === "login" ? login(url) : refresh(url));
        return { outcome: "ok", attempts: undefined };
      } catch (error) {
        return { outcome: nameOf(error), attempts: undefined };
      }
    },
    left() {
      const has = (what: string) => [...kept.keys()].some((key) => key.endsWith(what));
      return has("refreshToken") ? "both tokens" : has("accessToken") ? "access token" : "nothing";
    },
  };
}

/** The name or code by which a caller recognizes the error. */
function nameOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return String(error);
  const { code, name } = error as { code?: unknown; name?: unknown };
  return [code, name].find((each) => typeof each === "string" && each !== "") as string ?? "Error";
}

function attemptsOf(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null || !("$metadata" in error)) return undefined;
  const { attempts } = error.$metadata as { attempts?: number };
  return attempts;
}
