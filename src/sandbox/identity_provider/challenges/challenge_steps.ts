import type { UserAttribute } from "../../accounts.ts";
import { ANSWERED_CHALLENGES, type AnsweredChallenge } from "../../challenges.ts";
import { PLATFORM_NAME } from "../../options.ts";
import type { ProviderParts } from "../parts.ts";
import {
  type Fields,
  invalidParameter,
  notAuthorized,
  optionalText,
  requiredText,
  ServiceError,
} from "../wire_format.ts";
import type { Login } from "./login_sessions.ts";
import { maskedDestination, type SentCode } from "./sent_codes.ts";

/** One kind of challenge. */
interface ChallengeStep {
  /** Starts the challenge, for example by sending a code, and returns its parameters. */
  ask(parts: ProviderParts, login: Login): Record<string, string>;
  /**
   * Checks an answer. Returns the challenges that follow from the answer, or `"again"` to repeat
   * this challenge.
   *
   * @throws {ServiceError} If the answer is refused. The same session may be used to try again.
   */
  judge(parts: ProviderParts, login: Login, responses: Fields): readonly string[] | "again";
}

/** The challenge with this name, if the sandbox accepts an answer to it. */
export function stepNamed(name: string): ChallengeStep | undefined {
  const known = ANSWERED_CHALLENGES.find((each) => each === name);
  return known && STEPS[known];
}

const ATTRIBUTES: Readonly<Record<string, UserAttribute>> = {
  "userAttributes.email": "email",
  "userAttributes.phone_number": "phone",
};

const newPassword: ChallengeStep = {
  ask: (_parts, { account: { email, phone } }) => ({
    requiredAttributes: JSON.stringify(email === undefined ? ["userAttributes.email"] : []),
    userAttributes: JSON.stringify({
      ...(email === undefined ? {} : { email, email_verified: "true" }),
      ...(phone === undefined ? {} : { phone_number: phone, phone_number_verified: "true" }),
    }),
  }),
  judge({ accounts }, { account }, responses) {
    const password = requiredText(responses, "NEW_PASSWORD");
    const given = Object.keys(responses).filter((name) => name.startsWith("userAttributes."));
    const values = given.map((name) => {
      const attribute = Object.hasOwn(ATTRIBUTES, name) ? ATTRIBUTES[name] : undefined;
      if (attribute === undefined) throw invalidParameter(`There is no attribute ${name}.`);
      if (account[attribute] !== undefined) {
        throw notAuthorized(`Cannot modify an already provided ${name.split(".")[1]}`);
      }
      return [attribute, requiredText(responses, name)] as const;
    });
    if (account.email === undefined && !given.includes("userAttributes.email")) {
      throw invalidParameter("Invalid attributes given, email is missing");
    }
    const problem = accounts.setPassword(account, password);
    if (problem === "used") {
      throw new ServiceError(
        "PasswordHistoryPolicyViolationException",
        "Password has previously been used",
      );
    }
    if (problem !== undefined) {
      throw new ServiceError(
        "InvalidPasswordException",
        `Password did not conform with policy: ${problem}`,
      );
    }
    for (const [attribute, value] of values) accounts.setAttribute(account, attribute, value);
    return [];
  },
};

const authenticator: ChallengeStep = {
  ask: () => ({ FRIENDLY_DEVICE_NAME: "Authenticator" }),
  judge({ authenticators }, { account }, responses) {
    const code = requiredText(responses, "SOFTWARE_TOKEN_MFA_CODE");
    switch (authenticators.check(account, code)) {
      case "used":
        throw expiredCode("Your software token has already been used once.");
      case "wrong":
        throw codeMismatch("Invalid code received for user");
    }
    return [];
  },
};

/**
 * A challenge with a code sent by mail or phone. The field of the answer is the challenge's name
 * with `_CODE` at the end.
 */
function sentCode(name: string, medium: SentCode["medium"]): ChallengeStep {
  return {
    ask({ sentCodes }, login) {
      const sent = sentCodes.send(login.account, medium);
      login.sent = sent;
      return {
        CODE_DELIVERY_DELIVERY_MEDIUM: medium,
        CODE_DELIVERY_DESTINATION: maskedDestination(sent),
      };
    },
    judge({ sentCodes }, { account, sent }, responses) {
      const code = requiredText(responses, `${name}_CODE`);
      if (code === sent?.code) return [];
      if (sentCodes.includes(account.username, code)) {
        throw expiredCode("Invalid code provided, please request a code again.");
      }
      throw codeMismatch("Invalid code or auth state for the user.");
    },
  };
}

const setup: ChallengeStep = {
  ask: () => ({ MFAS_CAN_SETUP: '["SOFTWARE_TOKEN_MFA"]' }),
  judge(_parts, { authenticatorVerified }) {
    if (authenticatorVerified) return [];
    throw new ServiceError(
      "SoftwareTokenMFANotFoundException",
      "Software Token MFA is not set up for the user; verify a code first.",
    );
  },
};

/** The second factors that a user can choose from. */
function choices({ authenticators }: ProviderParts, { account }: Login): string[] {
  return [
    ...(authenticators.has(account) ? ["SOFTWARE_TOKEN_MFA"] : []),
    ...(account.phone === undefined ? [] : ["SMS_MFA"]),
    ...(account.email === undefined ? [] : ["EMAIL_OTP"]),
  ];
}

const selection: ChallengeStep = {
  ask: (parts, login) => ({ MFAS_CAN_CHOOSE: JSON.stringify(choices(parts, login)) }),
  judge(parts, login, responses) {
    const answer = requiredText(responses, "ANSWER");
    if (choices(parts, login).includes(answer)) return [answer];
    throw invalidParameter(`ANSWER must be one of ${choices(parts, login).join(", ")}`);
  },
};

const question: ChallengeStep = {
  ask: () => ({ question: "What is the name of the platform?" }),
  judge(_parts, _login, responses) {
    const answer = optionalText(responses, "ANSWER") ?? "";
    return answer.trim().toLowerCase() === PLATFORM_NAME.toLowerCase() ? [] : "again";
  },
};

const STEPS: Readonly<Record<AnsweredChallenge, ChallengeStep>> = {
  NEW_PASSWORD_REQUIRED: newPassword,
  MFA_SETUP: setup,
  SMS_MFA: sentCode("SMS_MFA", "SMS"),
  EMAIL_OTP: sentCode("EMAIL_OTP", "EMAIL"),
  SMS_OTP: sentCode("SMS_OTP", "SMS"),
  SOFTWARE_TOKEN_MFA: authenticator,
  SELECT_MFA_TYPE: selection,
  CUSTOM_CHALLENGE: question,
};

function codeMismatch(message: string): ServiceError {
  return new ServiceError("CodeMismatchException", message);
}

function expiredCode(message: string): ServiceError {
  return new ServiceError("ExpiredCodeException", message);
}
