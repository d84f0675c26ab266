/**
 * A plain token endpoint and API, so fast that only the client is measured. The API requires a
 * token of that endpoint. It returns n bytes for the path `/bytes/<n>`, and JSON for all others;
 * `/count` returns the number of requests to the token endpoint. With the argument `rotate`, each
 * refresh token is valid for one refresh.
 */
const rotates = Deno.args.includes("rotate");
const bodies = new Map<string, Uint8Array<ArrayBuffer>>();
const lifetimeSeconds = 3_600;
let tokenRequests = 0;
let refreshToken = "bench-refresh-token";

function token(): string {
  const part = (value: unknown) =>
    new TextEncoder().encode(JSON.stringify(value)).toBase64({ alphabet: "base64url" })
      .replaceAll("=", "");
  const iat = Math.floor(Date.now() / 1_000);
  const claims = { iat, exp: iat + lifetimeSeconds, token_use: "access", username: "bench" };
  return `${part({ alg: "none" })}.${part(claims)}.${part(crypto.randomUUID().repeat(8))}`;
}

const tokens = new Set<string>();

function bytes(path: string): Uint8Array<ArrayBuffer> {
  let body = bodies.get(path);
  if (body === undefined) {
    body = new Uint8Array(Number(path.slice("/bytes/".length))).fill(0x61);
    bodies.set(path, body);
  }
  return body;
}

function issued(): Response {
  const accessToken = token();
  tokens.add(accessToken);
  return Response.json({
    AuthenticationResult: {
      AccessToken: accessToken,
      ExpiresIn: lifetimeSeconds,
      RefreshToken: refreshToken,
      TokenType: "Bearer",
    },
    ChallengeParameters: {},
  });
}

/** Refuses any refresh token but the latest. */
async function rotated(request: Request): Promise<Response> {
  const { AuthParameters: { REFRESH_TOKEN: given = refreshToken } } = await request.json();
  if (given !== refreshToken) {
    const body = { __type: "NotAuthorizedException", message: "Invalid Refresh Token" };
    return Response.json(body, { status: 400 });
  }
  refreshToken = crypto.randomUUID();
  return issued();
}

const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
  const at = request.url.indexOf("/", "http://".length);
  const path = request.url.slice(at);
  if (path === "/count") return Response.json({ tokenRequests });
  if (request.method === "POST") {
    tokenRequests++;
    return rotates ? rotated(request) : issued();
  }
  // Some clients write the scheme with a capital letter.
  const given = request.headers.get("authorization")?.slice("bearer ".length);
  if (given === undefined || !tokens.has(given)) return new Response(null, { status: 401 });
  return path.startsWith("/bytes/") ? new Response(bytes(path)) : Response.json({});
});
console.log(JSON.stringify({ url: `http://127.0.0.1:${server.addr.port}` }));
