import type { NewUser, Sandbox } from "../../../src/sandbox/mod.ts";
import {
  type Answer,
  awsHeaders,
  type Body,
  hash,
  loginBody,
  send,
  vendorHeaders,
} from "../requests.ts";

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

/** The body of an answer to a step of a login. */
export function responseTo(sandbox: Sandbox, asked: Answer, responses: Body): Body {
  const { USERNAME, USER_ID_FOR_SRP } = asked.body.ChallengeParameters as Record<string, string>;
  const username = USERNAME ?? USER_ID_FOR_SRP ?? "";
  return {
    ChallengeName: asked.body.ChallengeName,
    Session: asked.body.Session,
    ChallengeResponses: { USERNAME: username, SECRET_HASH: hash(sandbox, username), ...responses },
  };
}

export function respond(sandbox: Sandbox, asked: Answer, responses: Body): Promise<Answer> {
  return operate(sandbox, "RespondToAuthChallenge", responseTo(sandbox, asked, responses));
}

/** The newest code that was sent by mail or phone. */
export function newestCode(sandbox: Sandbox): string {
  return sandbox.codes.at(-1)?.code ?? "";
}
