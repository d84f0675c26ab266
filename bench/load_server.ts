/**
 * A plain token endpoint and API, so fast that what is measured is the client. The API answers every
 * path `/bytes/<n>` with n bytes and wants a token that has not ended; `/count` tells how many requests the
 * token endpoint has had.
 */
const bodies = new Map<string, Uint8Array<ArrayBuffer>>();
const lifetimeSeconds = 3_600;
let tokenRequests = 0;

function token(): string {
  const part = (value: unknown) =>
    new TextEncoder().encode(JSON.stringify(value)).toBase64({ alphabet: "base64url" })
      .replaceAll("=", "");
  const iat = Math.floor(Date.now() / 1_000);
  const claims = { iat, exp: iat + lifetimeSeconds, token_use: "access", username: "bench" };
  return `${part({ alg: "none" })}.${part(claims)}.${part(crypto.randomUUID().repeat(8))}`;
}

let current = token();

function bytes(path: string): Uint8Array<ArrayBuffer> {
  let body = bodies.get(path);
  if (body === undefined) {
    body = new Uint8Array(Number(path.slice("/bytes/".length))).fill(0x61);
    bodies.set(path, body);
  }
  return body;
}

const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
  const at = request.url.indexOf("/", "http://".length);
  const path = request.url.slice(at);
  if (path === "/count") return Response.json({ tokenRequests });
  if (request.method === "POST") {
    tokenRequests++;
    current = token();
    return Response.json({
      AuthenticationResult: {
        AccessToken: current,
        ExpiresIn: lifetimeSeconds,
        RefreshToken: "bench-refresh-token",
        TokenType: "Bearer",
      },
      ChallengeParameters: {},
    });
  }
  // Some clients write the scheme with a capital letter.
  const given = request.headers.get("authorization")?.slice("bearer ".length);
  if (given !== current) return new Response(null, { status: 401 });
  return new Response(bytes(path));
});
const { port } = server.addr;
console.log(JSON.stringify({ url: `http://127.0.0.1:${port}`, token: current }));
