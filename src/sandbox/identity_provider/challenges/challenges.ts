/**
 * The challenges of a login after the password: what each challenge asks and accepts, the sessions
 * between challenges, the users' authenticators, and the codes sent by mail and phone.
 *
 * @module
 */
import type { Account } from "../../accounts.ts";
import { CLIENT_ID } from "../../options.ts";
import { loginResult } from "../authentication_result.ts";
import { checkClient, checkSecretHash } from "../client_checks.ts";
import type { ProviderParts } from "../parts.ts";
import {
  type Fields,
  invalidParameter,
  notAuthorized,
  optionalText,
  requiredFields,
  requiredText,
  ServiceError,
} from "../wire_format.ts";
import { stepNamed } from "./challenge_steps.ts";
import type { Login } from "./login_sessions.ts";

/**
 * Responds to a correct password with the first challenge, or with tokens if there is no challenge.
 */
export async function startLogin(
  parts: ProviderParts,
  account: Account,
  deviceKey: string | undefined,
): Promise<Fields> {
  const steps = stepsOf(parts, account);
  const login = { account, steps, deviceKey, failures: 0, authenticatorVerified: false };
  return await askNext(parts, login);
}

/**
 * Handles RespondToAuthChallenge: judges the answer to a challenge and responds with the next
 * challenge or with tokens.
 *
 * @throws {ServiceError} If the request is refused, or the answer is wrong.
 */
export async function respondToAuthChallenge(parts: ProviderParts, body: Fields): Promise<Fields> {
  const { config, logins } = parts;
  checkClient(body);
  const name = requiredText(body, "ChallengeName");
  const session = requiredText(body, "Session");
  const responses = requiredFields(body, "ChallengeResponses");
  const username = requiredText(responses, "USERNAME");
  checkSecretHash(config, optionalText(responses, "SECRET_HASH"), username, {
    required: config.clientSecret !== undefined,
    mismatch: `Unable to verify secret hash for client ${CLIENT_ID}`,
  });
  const login = logins.find(session);
  // The user name must be the name that the challenge contained. Other names with which the user
  // can log in are refused.
  if (username !== login.account.username || name !== login.steps[0]) {
    throw notAuthorized("Invalid session for the user.");
  }
  const step = stepNamed(name);
  if (step === undefined) {
    throw invalidParameter(`${name} needs SRP or a browser, which the sandbox does not support`);
  }
  let verdict;
  try {
    verdict = step.judge(parts, login, responses);
  } catch (error) {
    if (error instanceof ServiceError && /^(CodeMismatch|ExpiredCode)Ex/.test(error.code)) {
      logins.fail(session, login);
    }
    throw error;
  }
  logins.use(session);
  if (verdict === "again") {
    if (logins.fail(session, login)) throw notAuthorized("Incorrect username or password.");
    return ask(parts, login, name);
  }
  const deviceKey = optionalText(responses, "DEVICE_KEY") ?? login.deviceKey;
  const steps = [...verdict, ...login.steps.slice(1)];
  // Between `find()` and this line, nothing is awaited, so two simultaneous answers cannot both
  // succeed.
  return await askNext(parts, { ...login, steps, deviceKey, failures: 0, sent: undefined });
}

/**
 * Returns the challenges of a new login. If the user already has an authenticator,
 * SOFTWARE_TOKEN_MFA replaces MFA_SETUP.
 */
function stepsOf({ authenticators }: ProviderParts, account: Account): readonly string[] {
  const { challenges } = account;
  if (!authenticators.has(account)) return challenges;
  const code = "SOFTWARE_TOKEN_MFA";
  return challenges.includes(code)
    ? challenges.filter((name) => name !== "MFA_SETUP")
    : challenges.map((name) => name === "MFA_SETUP" ? code : name);
}

async function askNext(parts: ProviderParts, login: Login): Promise<Fields> {
  const [name] = login.steps;
  if (name === undefined) return await loginResult(parts, login.account, login.deviceKey);
  return ask(parts, login, name);
}

function ask(parts: ProviderParts, login: Login, name: string): Fields {
  const step = stepNamed(name);
  return {
    ChallengeName: name,
    ChallengeParameters: {
      ...(name === "CUSTOM_CHALLENGE"
        ? { USERNAME: login.account.username }
        : { USER_ID_FOR_SRP: login.account.username }),
      ...step?.ask(parts, login),
    },
    Session: parts.logins.open(login),
  };
}
