import { createHmac } from "node:crypto";
import { Clock } from "../support/clock.ts";
import "../support/quick_signatures.ts";
import {
  createSandbox,
  type NewUser,
  type Sandbox,
  type SandboxOptions,
} from "../../src/sandbox/mod.ts";

/** Registers a test with a sandbox without ports and with its own clock. */
export function sandboxTest(
  name: string,
  options: SandboxOptions,
  test: (world: { sandbox: Sandbox; clock: Clock }) => void | Promise<void>,
): void {
  Deno.test(name, async () => {
    const clock = new Clock();
    await using sandbox = createSandbox({ now: clock.now, ...options });
    await test({ sandbox, clock });
  });
}

export type Body = Record<string, unknown>;

export interface Answer {
  status: number;
  headers: Headers;
  body: Body;
  result: Record<string, string | number>;
}

/** The request headers that section 4.1 of the provider's API document requires. */
export function vendorHeaders(operation = "InitiateAuth"): Record<string, string> {
  return {
    "x-vendor-target": `VendorIdentityProviderService.${operation}`,
    "content-type": "application/x-vendor-json-1.1",
  };
}

/** The headers of the public protocol. */
export function awsHeaders(operation = "InitiateAuth"): Record<string, string> {
  return {
    "x-amz-target": `AWSCognitoIdentityProviderService.${operation}`,
    "content-type": "application/x-amz-json-1.1",
  };
}

export function hash(sandbox: Sandbox, username: string): string {
  const { clientId, clientSecret } = sandbox.settings;
  return createHmac("sha256", clientSecret).update(username).update(clientId).digest("base64");
}

export function loginBody(sandbox: Sandbox, parameters: Body = {}): Body {
  const { clientId, userPoolId, username, password } = sandbox.settings;
  return {
    AuthFlow: "USER_PASSWORD_AUTH",
    ClientId: clientId,
    UserPoolId: userPoolId,
    AuthParameters: {
      USERNAME: username,
      PASSWORD: password,
      SECRET_HASH: hash(sandbox, username),
      ...parameters,
    },
  };
}

export function refreshBody(sandbox: Sandbox, refreshToken: unknown, parameters: Body = {}): Body {
  const { clientId, userPoolId } = sandbox.settings;
  return {
    AuthFlow: "REFRESH_TOKEN_AUTH",
    ClientId: clientId,
    UserPoolId: userPoolId,
    AuthParameters: { REFRESH_TOKEN: refreshToken, ...parameters },
  };
}

/** Sends one request to the token endpoint, without a port. */
export async function send(
  sandbox: Sandbox,
  body: Body | string,
  init: { headers?: Record<string, string> } = {},
): Promise<Answer> {
  const request = new Request(sandbox.authUrl, {
    method: "POST",
    headers: vendorHeaders(),
    ...init,
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const response = await sandbox.handle(request);
  const answer = await response.json();
  return {
    status: response.status,
    headers: response.headers,
    body: answer,
    result: answer.AuthenticationResult ?? {},
  };
}

/** Sends an operation with the protocol names of the sandbox. */
export function operate(sandbox: Sandbox, operation: string, body: Body): Promise<Answer> {
  const { provider, clientId } = sandbox.settings;
  const headers = provider === "aws" ? awsHeaders(operation) : vendorHeaders(operation);
  return send(sandbox, { ClientId: clientId, ...body }, { headers });
}

/** Sends name and password of a user, by default of the one in the settings. */
export function enter(
  sandbox: Sandbox,
  { username, password }: Pick<NewUser, "username" | "password"> = sandbox.settings,
): Promise<Answer> {
  const SECRET_HASH = hash(sandbox, username);
  const parameters = { USERNAME: username, PASSWORD: password, SECRET_HASH };
  return operate(sandbox, "InitiateAuth", loginBody(sandbox, parameters));
}

/** Sends an answer to a further step of a login, with these fields instead of the correct ones. */
export function respond(
  sandbox: Sandbox,
  asked: Answer,
  responses: Body,
  fields: Body = {},
): Promise<Answer> {
  const { USERNAME, USER_ID_FOR_SRP } = asked.body.ChallengeParameters as Record<string, string>;
  const username = USERNAME ?? USER_ID_FOR_SRP ?? "";
  const { ChallengeName, Session } = asked.body;
  return operate(sandbox, "RespondToAuthChallenge", {
    ChallengeName,
    Session,
    ChallengeResponses: { USERNAME: username, SECRET_HASH: hash(sandbox, username), ...responses },
    ...fields,
  });
}

export async function logIn(sandbox: Sandbox): Promise<Answer["result"]> {
  const { status, body, result } = await send(sandbox, loginBody(sandbox));
  if (status !== 200) throw new Error(`the login failed: ${JSON.stringify(body)}`);
  return result;
}

/** `200`, or the status, the name and the message of an error response in one line. */
export function outcome({ status, body }: Answer): string {
  return status === 200 ? "200" : `${status} ${body.__type}: ${body.message}`;
}

/** Calls the API, without a port. */
export function callApi(
  sandbox: Sandbox,
  path: string,
  token?: string | number,
  init: RequestInit = {},
): Promise<Response> {
  const headers = new Headers(init.headers);
  if (token !== undefined) headers.set("authorization", `bearer ${token}`);
  return sandbox.handle(new Request(sandbox.apiUrl + path, { ...init, headers }));
}

/** A header that browsers send with a request from the portal's own pages. */
export const SAME_SITE = { "sec-fetch-site": "same-origin" };

/** Sends the login form of the portal, without a port. */
export function signIn(sandbox: Sandbox, username: string, password: string): Promise<Response> {
  const body = new URLSearchParams({ username, password });
  return sandbox.handle(
    new Request(`${sandbox.portalUrl}/login`, { method: "POST", headers: SAME_SITE, body }),
  );
}

/** Signs in to the portal and returns the session's cookie. */
export async function portalCookie(
  sandbox: Sandbox,
  { username, password }: { username: string; password: string } = sandbox.settings,
): Promise<string> {
  const { headers } = await signIn(sandbox, username, password);
  return (headers.getSetCookie()[0] ?? "").split(";")[0] ?? "";
}
