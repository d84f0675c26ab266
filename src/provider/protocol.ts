import type { ChallengeErrorCode, ProviderErrorCode } from "../errors/errors.ts";
import type { Fix } from "../errors/advice.ts";
import type { CheckedSettings, ProviderWords } from "../settings/options.ts";
import type { Secret } from "../platform/secret.ts";

/** What a request to the identity provider needs, checked. */
export interface ProviderSettings
  extends Omit<CheckedSettings, "authUrl" | "provider" | "portalUrl"> {
  /** The token endpoint (section 4.1). */
  readonly url: URL;
  readonly dialect: ProviderWords;
  /** Absent for a public client: no SECRET_HASH. */
  readonly clientSecret: Secret | undefined;
  /** The command that gives a script its permissions, for the message of one that is missing. */
  command(): string;
}

/** A request to the token endpoint (section 4.1), ready to be sent. */
export interface ProviderRequest {
  /** A challenge is a further step of a login. */
  readonly flow: "login" | "challenge" | "refresh" | "device" | "sign-out";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Secret;
  /** The command that gives a script its permissions, for the message of one that is missing. */
  command(): string;
  /** What must not appear in an error message. */
  readonly secrets: readonly Secret[];
}

/** What the provider answered, read to its end. */
export interface ProviderAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Tokens as an answer holds them (section 2.2). */
export interface IssuedTokens {
  readonly accessToken: Secret;
  /** Absent if the old one stays valid. */
  readonly refreshToken: Secret | undefined;
  /** Lifetime of the access token in seconds, if the answer has one. */
  readonly expiresIn: number | undefined;
  /** The device that the provider made of this login. */
  readonly device: NewDevice | undefined;
}

/** A device that waits to be confirmed. */
export interface NewDevice {
  readonly key: Secret;
  readonly groupKey: Secret;
}

/** What an answer means. */
export type Outcome =
  | { readonly kind: "tokens"; readonly tokens: IssuedTokens }
  | IssuedChallenge
  | { readonly kind: "key"; readonly key: Secret; readonly session: Secret | undefined }
  | { readonly kind: "verified"; readonly session: Secret | undefined }
  /** The provider did it, and gave nothing back. */
  | { readonly kind: "done" }
  | Refused;

/** A further step that the provider wants before it issues tokens. */
export interface IssuedChallenge {
  readonly kind: "challenge";
  readonly name: string;
  /** Fit to be shown. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The user's attributes that have a value, by name. */
  readonly attributes: readonly string[];
  /** The name by which the provider knows the user, if it says so. */
  readonly username: string | undefined;
  /** What the answer must carry; good for one answer, and for minutes. */
  readonly session: Secret | undefined;
}

/** What a refusal means, for people. */
export interface Meaning {
  readonly problem: string;
  /** How the sentence goes on after what was seen. */
  readonly detail?: string;
  readonly fix: Fix;
}

/** The codes of what can be refused. */
export type RefusalCode = ProviderErrorCode | ChallengeErrorCode | "REFRESH_REJECTED";

/** A request that did not bring what it asks for. */
export interface Refused {
  readonly kind: "refused";
  readonly code: RefusalCode;
  /** Whether the same request may be sent again a little later. */
  readonly repeatable: boolean;
  /** Whether the provider said that this refresh token will never work again. */
  readonly isFinal: boolean;
  /** What was seen or said; holds no secret. */
  readonly seen: string;
  /** What this refusal means, where it is not what its code means elsewhere. */
  readonly words?: Partial<Meaning> | undefined;
  /** The error of the network, where there was no answer. */
  readonly cause?: unknown;
  readonly status?: number;
  readonly providerCode?: string | undefined;
  readonly requestId?: string | undefined;
  /** The provider's own message, if it can be shown. */
  readonly message?: string | undefined;
  /** Whether the code was right but is used up: only the next one helps. */
  readonly codeAlreadyUsed?: boolean;
  /** What the next answer to the same step must carry, if the provider says so. */
  readonly session?: Secret | undefined;
}
