/** `doctor({ login: true })` tries a login and a refresh, and then ends that session. */
import { assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import type { Diagnosis } from "../../mod.ts";
import { errorAnswer, jwt, tokenAnswer } from "../support/answers.ts";
import { type Portless, portless, rejection, signedIn } from "../support/portless.ts";
import { assertCheck, checkNamed } from "./doctor_checks.ts";

const TRIED = ["login", "new token", "refresh", "logout"];

function levels({ checks }: Diagnosis): string[] {
  return checks.filter(({ name }) => TRIED.includes(name)).map((each) =>
    `${each.name} ${each.level}`
  );
}

/** The response of the sandbox's provider to a refresh token. */
async function refreshWith({ sandbox, options }: Portless, token: unknown): Promise<string> {
  const answer = await sandbox.handle(
    new Request(String(options.authUrl), {
      method: "POST",
      headers: {
        "x-vendor-target": "VendorIdentityProviderService.GetTokensFromRefreshToken",
        "content-type": "application/x-vendor-json-1.1",
      },
      body: JSON.stringify({
        RefreshToken: token,
        ClientId: options.clientId,
        ClientSecret: options.clientSecret,
      }),
    }),
  );
  return (await answer.json()).message ?? "still valid";
}

for (const rotateRefreshTokens of [false, "get-tokens"] as const) {
  Deno.test(`doctor({ login: true }) revokes the tokens of its test login (rotation: ${rotateRefreshTokens})`, async () => {
    await using world = await signedIn({ file: true, sandbox: { rotateRefreshTokens } });
    const before = { file: Deno.readTextFileSync(world.envFile), sent: world.sent.length };
    const token = await world.session.accessToken();
    const diagnosis = await world.session.doctor({ login: true });
    assertEquals(levels(diagnosis), TRIED.map((name) => `${name} ok`));
    const flows = world.sent.slice(before.sent).map(({ flow }) => flow);
    assertEquals(flows, [
      "USER_PASSWORD_AUTH",
      "REFRESH_TOKEN_AUTH",
      ...(rotateRefreshTokens === "get-tokens" ? ["GetTokensFromRefreshToken"] : []),
      "RevokeToken",
    ]);
    const tried = world.sent.find(({ flow }, at) =>
      at >= before.sent && flow === "REFRESH_TOKEN_AUTH"
    );
    for (const each of [tried?.parameters.REFRESH_TOKEN, world.sent.at(-1)?.body.Token]) {
      assertMatch(await refreshWith(world, each), /revoked|invalidated/);
    }
    const isRotated = world.sent.at(-1)?.body.Token !== tried?.parameters.REFRESH_TOKEN;
    assertEquals(isRotated, rotateRefreshTokens !== false, "the newest one is revoked");
    // The user's own session is unchanged.
    assertEquals(Deno.readTextFileSync(world.envFile), before.file);
    assertEquals(await world.session.accessToken(), token);
    assertEquals((await world.another().refresh()).source, "refresh");
  });
}

Deno.test("doctor({ login: true }) detects a pool that requires a device key but never issues one", async () => {
  await using world = portless({ sandbox: { trackDevices: "withheld" } });
  const diagnosis = await world.session.doctor({ login: true });
  assertEquals(levels(diagnosis), ["login ok", "new token ok", "refresh fail", "logout ok"]);
  const { message, fix = "" } = checkNamed("refresh", diagnosis);
  assertMatch(message, /rejected the refresh token .*Invalid Refresh Token/);
  assertMatch(fix, /support channel of your subscription whether its user pool tracks devices/);
  assertNotMatch(fix, /login\(\)|force/);
});

/** The responses of a provider to each operation after the login, and the diagnosis. */
const PROVIDERS: [
  what: string,
  login: Parameters<typeof tokenAnswer>[0],
  respond: (flow: string) => Response,
  found: [name: string, level: "ok" | "warn" | "fail", message: RegExp, fix?: RegExp][],
][] = [
  [
    "a throttled refresh",
    undefined,
    () => errorAnswer("LimitExceededException", "too often"),
    [
      ["refresh", "fail", /too many requests/, /wait, then try again/],
      ["logout", "ok", /the test login ended/],
    ],
  ],
  [
    "no refresh token",
    { AccessToken: jwt({}), ExpiresIn: 1_800 },
    () => new Response("", { status: 500 }),
    [
      [
        "refresh",
        "warn",
        /issued no refresh token for this login$/,
        /to allow refresh tokens for the app client/,
      ],
      ["logout", "ok", /the test login ended/],
    ],
  ],
];

Deno.test("doctor({ login: true }) reports unusual behavior of the provider", async () => {
  for (const [what, login, respond, found] of PROVIDERS) {
    await using world = portless({
      provider: ({ flow }) =>
        flow === "USER_PASSWORD_AUTH"
          ? tokenAnswer(login)
          : flow === "RevokeToken"
          ? new Response("")
          : respond(flow),
    });
    const diagnosis = await world.session.doctor({ login: true });
    for (const [name, level, message, fix] of found) {
      assertCheck(diagnosis, name, level, message, fix);
    }
    if (what === "no refresh token") assertEquals(world.sent.length, 1);
  }
  await using world = portless({ sandbox: { revocation: false } });
  const message = /could not be ended \(not at the provider: .*Token revocation is not enabled/;
  const diagnosis = await world.session.doctor({ login: true });
  assertCheck(diagnosis, "logout", "warn", message, /the tokens of the test login were not saved/);
});

Deno.test("an aborted doctor({ login: true }) sends nothing more, not even the logout", async () => {
  const abort = new AbortController();
  const reason = new Error("enough");
  await using world = portless({
    provider: ({ flow }) => {
      if (flow === "REFRESH_TOKEN_AUTH") abort.abort(reason);
      return tokenAnswer();
    },
  });
  assertEquals(
    await rejection(world.session.doctor({ login: true, signal: abort.signal })),
    reason,
  );
  assertEquals(world.sent.map(({ flow }) => flow), ["USER_PASSWORD_AUTH", "REFRESH_TOKEN_AUTH"]);
});

const SCOPES = "platform.read platform.annotate aws.cognito.signin.user.admin";
const INSUFFICIENT = 'Bearer realm="api", error="insufficient_scope"';

/** The API's response to a request, and whether it means that the API refuses the token. */
const REFUSALS: [status: number, authenticate: string, refused: boolean][] = [
  [401, "", true],
  [403, INSUFFICIENT, true],
  // Without error="insufficient_scope", a 403 says nothing about the token.
  [403, "Bearer", false],
];

Deno.test("if the API refuses a new token, doctor() shows the token's scopes and a text to send to support", async () => {
  for (const [status, authenticate, refused] of REFUSALS) {
    await using world = await signedIn({
      api: ({ headers }) =>
        headers.has("authorization")
          ? new Response(null, { status, headers: { "www-authenticate": authenticate } })
          : new Response(null, { status: 401 }),
    });
    const diagnosis = await world.session.doctor({ login: refused });
    if (!refused) {
      assertCheck(
        diagnosis,
        "token",
        "skip",
        /not certain: .*status 403 with the token and 401 without/,
      );
      continue;
    }
    assertEquals(levels(diagnosis), ["login ok", "new token fail", "refresh ok", "logout ok"]);
    for (const name of ["token", "new token"]) {
      const { level, message, fix = "" } = checkNamed(name, diagnosis);
      assertEquals(level, "fail");
      assertEquals(message, `the API rejects the token (status ${status}); its scopes: ${SCOPES}`);
      assertMatch(fix, /^run login\(\{ force: true \}\); if the API rejects the new token, too/);
      assertMatch(fix, /support channel .*: "The data platform API rejects .*scopes/);
    }
  }
});
