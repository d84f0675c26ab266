/** Responses of a token endpoint, and network errors instead of a response. */

/** A token in the provider's format with these claims and an invalid signature. */
export function jwt(
  claims: Record<string, unknown>,
  signature: string = crypto.randomUUID().replaceAll("-", ""),
): string {
  const part = (value: unknown) =>
    new TextEncoder().encode(JSON.stringify(value))
      .toBase64({ alphabet: "base64url", omitPadding: true });
  return `${part({ alg: "RS256", typ: "JWT" })}.${part(claims)}.${signature}`;
}

/** A response with a JSON body. */
export function jsonAnswer(
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): Response {
  return new Response(JSON.stringify(body), { status, headers });
}

/** An error response in the format of the real service. */
export function errorAnswer(
  name: string,
  message: string,
  status = 400,
  headers: Record<string, string> = {},
): Response {
  return jsonAnswer({ __type: name, message }, status, headers);
}

/** Tokens in the format of section 2.2, without readable claims. */
export const TOKENS = {
  AccessToken: "opaque-access-token",
  ExpiresIn: 1800,
  IdToken: "opaque-id-token",
  RefreshToken: "opaque-refresh-token",
  TokenType: "Bearer",
};

/** A response with these tokens. */
export function tokenAnswer(
  tokens: Record<string, unknown> = TOKENS,
  headers: Record<string, string> = {},
): Response {
  return jsonAnswer({ AuthenticationResult: tokens, ChallengeParameters: {} }, 200, headers);
}

/** Throws what the runtime's `fetch` throws when no connection could be made. */
export function refusedConnection(): never {
  throw new TypeError("error sending request for url (https://provider.example/)", {
    cause: new Error(
      "client error (Connect): tcp connect error: Connection refused (os error 111)",
    ),
  });
}

/** Throws the error of the runtime's `fetch` for a connection that ends before the response. */
export function brokenConnection(): never {
  throw new TypeError("error sending request for url (https://provider.example/)", {
    cause: new Error("client error (SendRequest): connection closed before message completed"),
  });
}
