import {
  calculateJwkThumbprint,
  errors,
  exportJWK,
  generateKeyPair,
  type JWK,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from "npm:jose@6.2.17";
import type { Account } from "../accounts.ts";

/** A new access token and identity token. */
export interface IssuedTokens {
  readonly accessToken: string;
  readonly idToken: string;
  readonly expiresAt: Date;
}

/** The claims of a valid access token. */
export interface AccessClaims extends JWTPayload {
  readonly username: string;
}

/** The error for a token that the API rejects. */
export class TokenRefused extends Error {
  override name = "TokenRefused";

  constructor(message: string, readonly isExpired = false) {
    super(message);
  }
}

/** Scopes of every access token. */
const API_SCOPE = "platform.read platform.annotate";

/** The scope for operations on the user's own account. Tokens from the portal do not have it. */
export const ACCOUNT_SCOPE = "aws.cognito.signin.user.admin";

type KeyOfPair = Awaited<ReturnType<typeof generateKeyPair>>["privateKey"];

interface SigningKey {
  readonly privateKey: KeyOfPair;
  readonly publicKey: KeyOfPair;
  readonly publicJwk: JWK;
  readonly kid: string;
}

// Generating an RSA key takes a quarter of a second, so a process generates only one key, when a
// sandbox first needs it.
let signingKey: Promise<SigningKey> | undefined;

async function makeSigningKey(): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair("RS256", { modulusLength: 2048 });
  const jwk = await exportJWK(publicKey);
  const kid = await calculateJwkThumbprint(jwk);
  return { privateKey, publicKey, publicJwk: { ...jwk, alg: "RS256", use: "sig", kid }, kid };
}

function getSigningKey(): Promise<SigningKey> {
  return signingKey ??= makeSigningKey();
}

/** Signs and checks the tokens of one user pool. */
export class TokenIssuer {
  #options: { issuer: string; clientId: string; accessTokenSeconds: number; now: () => number };
  /** Number of the newest token. The `jti` of each token begins with the number of the token. */
  #count = 0;
  /**
   * The API rejects all tokens up to this number. The map has such a number for single users, by
   * their `sub`.
   */
  #refusedUpTo = 0;
  #refusedUpToOf = new Map<string, number>();

  constructor(
    options: { issuer: string; clientId: string; accessTokenSeconds: number; now: () => number },
  ) {
    this.#options = options;
  }

  /**
   * Signs an access token and an identity token for a user who logged in at `authenticatedAt`.
   *
   * @param originJti Undefined if the tokens of this login cannot be revoked.
   * @param scope A scope in addition to those of the API.
   */
  async issue(
    account: Account,
    authenticatedAt: number,
    originJti: string | undefined,
    scope?: typeof ACCOUNT_SCOPE,
  ): Promise<IssuedTokens> {
    const { issuer, clientId, accessTokenSeconds, now } = this.#options;
    const iat = Math.floor(now() / 1000);
    const exp = iat + accessTokenSeconds;
    // The number is assigned before the first await, so that a sign-out while the token is being
    // signed also ends this token.
    const jti = `${++this.#count}-${crypto.randomUUID()}`;
    const { privateKey, kid } = await getSigningKey();
    const shared = {
      sub: account.sub,
      iss: issuer,
      ...(originJti === undefined ? {} : { origin_jti: originJti }),
      auth_time: Math.floor(authenticatedAt / 1000),
      iat,
      exp,
    };
    const sign = (claims: JWTPayload): Promise<string> =>
      new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid, typ: "JWT" }).sign(privateKey);
    const accessToken = await sign({
      ...shared,
      token_use: "access",
      scope: scope === undefined ? API_SCOPE : `${API_SCOPE} ${scope}`,
      client_id: clientId,
      username: account.username,
      jti,
    });
    const idToken = await sign({
      ...shared,
      token_use: "id",
      aud: clientId,
      preferred_username: account.username,
      ...(account.email === undefined ? {} : { email: account.email, email_verified: true }),
      jti: crypto.randomUUID(),
    });
    return { accessToken, idToken, expiresAt: new Date(exp * 1000) };
  }

  /**
   * Checks an access token as the API does: signature, issuer, time, use and client.
   *
   * @throws {TokenRefused} If the token is not valid. The message says why.
   */
  async verify(token: string): Promise<AccessClaims> {
    const { issuer, clientId, now } = this.#options;
    const { publicKey } = await getSigningKey();
    let claims: JWTPayload;
    try {
      const options = { algorithms: ["RS256"], issuer, currentDate: new Date(now()) };
      claims = (await jwtVerify(token, publicKey, options)).payload;
    } catch (error) {
      if (!(error instanceof errors.JOSEError)) throw error;
      throw new TokenRefused(refusal(error), error instanceof errors.JWTExpired);
    }
    if (claims.token_use !== "access") {
      throw new TokenRefused("This is not an access token; send the AccessToken, not the IdToken");
    }
    if (claims.client_id !== clientId || typeof claims.username !== "string") {
      throw new TokenRefused("The access token was issued to another app client");
    }
    const refusedUpTo = Math.max(
      this.#refusedUpTo,
      this.#refusedUpToOf.get(claims.sub ?? "") ?? 0,
    );
    if (parseInt(claims.jti ?? "") <= refusedUpTo) {
      throw new TokenRefused("The access token is no longer accepted");
    }
    return { ...claims, username: claims.username };
  }

  /** Makes the API refuse the access tokens issued so far to one account, or to all accounts. */
  revoke(account?: Account): void {
    if (account === undefined) this.#refusedUpTo = this.#count;
    else this.#refusedUpToOf.set(account.sub, this.#count);
  }

  /** The public key set, served at `/.well-known/jwks.json`. */
  async keySet(): Promise<{ keys: JWK[] }> {
    return { keys: [(await getSigningKey()).publicJwk] };
  }
}

function refusal(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return "The access token expired";
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return "The signature of the access token is not the identity provider's";
  }
  if (error instanceof errors.JWTClaimValidationFailed) {
    return `The claim ${error.claim} of the access token is not acceptable`;
  }
  return "The access token is not a signed token of the identity provider";
}
