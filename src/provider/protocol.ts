/**
 * Requests to the identity provider, and the outcomes of its responses.
 *
 * In this folder and in the sandbox, a section such as 4.1 is one of the document "Token Issuance for
 * the Data Platform API". That document describes logins and refreshes; all other operations, and
 * what it leaves open, follow the public protocol with the same operation names.
 */
import type { ChallengeErrorCode, ProviderErrorCode } from "../errors/errors.ts";
import type { Advice } from "../errors/advice.ts";
import type { Secret } from "../platform/secret.ts";

/** A request to the token endpoint (section 4.1), ready to be sent. */
export interface ProviderRequest {
  /** A challenge is a further step of a login. */
  readonly flow: "login" | "challenge" | "refresh" | "device" | "sign-out";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Secret;
  /** Values that must not appear in an error message. */
  readonly secrets: readonly Secret[];
}

/** The purpose of a request, for messages. */
export const DOING: Readonly<Record<ProviderRequest["flow"], string>> = {
  login: "log in",
  challenge: "log in",
  refresh: "refresh the session",
  device: "confirm the device",
  "sign-out": "sign out at the provider",
};

/** A response of the provider, read to its end. */
export interface ProviderResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** The tokens in a response (section 2.2). */
export interface IssuedTokens {
  readonly accessToken: Secret;
  /** Absent if the previous refresh token stays valid. */
  readonly refreshToken: Secret | undefined;
  /** Lifetime of the access token in seconds, if the response has one. */
  readonly expiresIn: number | undefined;
  /** The device that the provider created for this login. */
  readonly device: NewDevice | undefined;
}

/** A device that has to be confirmed. */
export interface NewDevice {
  readonly key: Secret;
  readonly groupKey: Secret;
}

/** The outcome of a request, according to the response. */
export type Outcome =
  | { readonly kind: "tokens"; readonly tokens: IssuedTokens }
  | IssuedChallenge
  | Done
  | Refused;

/** Success without tokens. */
export interface Done {
  readonly kind: "done";
  readonly fields: Readonly<Record<string, unknown>>;
  /** The session string, which the next request of this login must contain. */
  readonly session: Secret | undefined;
}

/** A further step that the provider requires before it issues tokens. */
export interface IssuedChallenge {
  readonly kind: "challenge";
  readonly name: string;
  /** The provider's parameters, without secrets. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Names of the user's attributes that have a value. */
  readonly attributes: readonly string[];
  /** The provider's own name for the user, if the response has one. */
  readonly username: string | undefined;
  /**
   * The session string, which the answer must contain. It is valid for one answer and for a few
   * minutes.
   */
  readonly session: Secret | undefined;
}

/** The possible codes of a refusal. */
export type RefusalCode = ProviderErrorCode | ChallengeErrorCode | "REFRESH_REJECTED";

/** A request that failed. */
export interface Refused {
  readonly kind: "refused";
  readonly code: RefusalCode;
  /** Whether the same request may be sent again a little later. */
  readonly repeatable?: boolean;
  /** Whether the provider's response means that this refresh token will never work again. */
  readonly isFinal?: boolean | undefined;
  /** A description of the response, without secrets. */
  readonly seen: string;
  /** Advice for this refusal, if the advice for its code is not specific enough. */
  readonly advice?: Partial<Advice> | undefined;
  /** The network error, if there was no response. */
  readonly cause?: unknown;
  readonly status?: number;
  readonly providerCode?: string | undefined;
  readonly requestId?: string | undefined;
  /** The provider's own message, if it can be shown. */
  readonly message?: string | undefined;
  /**
   * The session string, if the provider sent one. The next answer to the same step must contain it.
   */
  readonly session?: Secret | undefined;
}
