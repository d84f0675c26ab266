/** A token with the shape of the provider's, made at run time; its signature is none. */
export function fakeToken(claims: Record<string, unknown>, signature = "c2lnbmF0dXJl"): string {
  const part = (value: unknown) =>
    new TextEncoder().encode(JSON.stringify(value))
      .toBase64({ alphabet: "base64url", omitPadding: true });
  return `${part({ alg: "RS256", typ: "JWT" })}.${part(claims)}.${signature}`;
}
