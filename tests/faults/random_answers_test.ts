import { assert } from "@std/assert";
import { fc, rounds } from "../support/property.ts";
import { AuthError, computeSecretHash, createSession } from "../../mod.ts";
import { type Canned, cannedFetch } from "../support/canned_fetch.ts";
import { jwt, tokenAnswer, TOKENS } from "../support/answers.ts";
import { Clock } from "../support/clock.ts";
import { repeatedPart } from "../support/canaries.ts";

/** The number of responses that each test invents, many more with SOAK set. */
const RUNS = rounds(200, 20_000);

const NAME = "ada";
const CLIENT = "example-client";
const canaries = {
  password: `pw-${crypto.randomUUID()}`,
  clientSecret: `cs-${crypto.randomUUID()}`,
  refreshToken: `rt-${crypto.randomUUID()}`,
};
const hash = await computeSecretHash(NAME, CLIENT, canaries.clientSecret);

/** The values that each flow sends, and that a provider or proxy may therefore repeat. */
const SENT = {
  login: [canaries.password, canaries.clientSecret, hash],
  // Not the hash: after one that is rejected, the variant without a hash is tried.
  refresh: [canaries.refreshToken, canaries.clientSecret],
};

interface Invented {
  readonly status: number;
  readonly headers: [string, string][];
  readonly body: string | Uint8Array<ArrayBuffer>;
}

function echo(secrets: string[]): fc.Arbitrary<string> {
  const secret = fc.constantFrom(...secrets);
  const spelled = fc.tuple(secret, fc.nat(2)).map(([text, how]) =>
    how === 0 ? text : how === 1 ? text.slice(3, 20) : new TextEncoder().encode(text).toBase64()
  );
  return fc.tuple(fc.constantFrom("", "bad input ", "{", "https://"), spelled).map((it) =>
    it.join("")
  );
}

/** JSON like that of a success or an error, with members changed, missing or added. */
function nearlyGood(secrets: string[]): fc.Arbitrary<unknown> {
  const leaf = fc.oneof(
    fc.constantFrom<unknown>(null, 0, -1, 1.5, 1e300, true, "", "Bearer", [], {}, "1800"),
    fc.jsonValue({ maxDepth: 2 }),
    echo(secrets),
  );
  const maybe = <T>(good: fc.Arbitrary<T>) =>
    fc.oneof({ arbitrary: good, weight: 3 }, { arbitrary: leaf, weight: 1 });
  const token = fc.oneof(
    fc.constant("opaque-token"),
    fc.dictionary(fc.constantFrom("iat", "exp", "sub", "username", "client_id"), fc.jsonValue())
      .map((claims) => jwt(claims)),
  );
  const result = fc.record({
    AccessToken: maybe(token),
    ExpiresIn: maybe(fc.constant(1800)),
    IdToken: maybe(fc.constant("id")),
    RefreshToken: maybe(fc.constant("next-refresh-token")),
    TokenType: maybe(fc.constant("Bearer")),
  }, { requiredKeys: [] });
  const good = fc.record({
    AuthenticationResult: maybe(result),
    ChallengeName: maybe(fc.constantFrom<unknown>(null, "SMS_MFA", "NEW_PASSWORD_REQUIRED")),
    ChallengeParameters: maybe(fc.dictionary(fc.oneof(fc.string(), echo(secrets)), leaf)),
    Session: leaf,
  }, { requiredKeys: [] });
  const error = fc.record({
    __type: maybe(fc.constantFrom(
      ...["NotAuthorizedException", "a.b#InvalidParameterException", "TooManyRequestsException"],
    )),
    message: maybe(
      fc.constantFrom("SecretHash does not match", "flow", "Refresh Token has expired"),
    ),
    code: leaf,
    Message: leaf,
  }, { requiredKeys: [] });
  return fc.oneof(good, error, leaf);
}

function body(secrets: string[]): fc.Arbitrary<Invented["body"]> {
  const json = nearlyGood(secrets).map((value) => JSON.stringify(value));
  const cut = fc.tuple(json, fc.nat(200)).map(([text, at]) => text.slice(0, at));
  const bytes = fc.uint8Array({ maxLength: 200 }).map((it) => new Uint8Array(it));
  const pages = fc.constantFrom("", " ", "<html>", "NotAuthorizedException", "\u0000", "\ufeff{}");
  return fc.oneof({ arbitrary: json, weight: 5 }, cut, bytes, pages, echo(secrets), fc.json());
}

function headers(secrets: string[]): fc.Arbitrary<[string, string][]> {
  const name = fc.constantFrom(
    ...["x-amzn-errortype", "x-amzn-requestid", "x-request-id", "retry-after", "date", "location"],
    ...["content-type", "set-cookie", "www-authenticate"],
  );
  const value = fc.oneof(
    fc.constantFrom(
      ...["0", "1", "-1", "1e9", "99999999999", "Wed, 01 Jan 2031 00:00:00 GMT", "never", "", "/"],
      ...["NotAuthorizedException:", "a#b:c#d", "https://elsewhere.example/?a=b", "text/html"],
    ),
    fc.string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map((it) => String.fromCharCode(it)) }),
    echo(secrets),
  );
  return fc.array(fc.tuple(name, value), { maxLength: 3 });
}

function invented(secrets: string[]): fc.Arbitrary<Invented> {
  const status = fc.oneof(
    fc.constantFrom(200, 200, 200, 200, 400, 400, 429, 500, 302, 401, 403, 404, 204, 304),
    fc.integer({ min: 200, max: 599 }),
  );
  return fc.record({ status, headers: headers(secrets), body: body(secrets) });
}

function answerOf({ status, headers, body }: Invented): Canned {
  const bare = [204, 205, 304].includes(status);
  return () => new Response(bare ? null : body, { status, headers });
}

/** Runs the work; what it throws, if anything, must be of our own and must not tell. */
async function assertDiscreet(work: () => Promise<unknown>): Promise<void> {
  let outcome: unknown;
  try {
    outcome = await work();
  } catch (error) {
    assert(error instanceof AuthError, `not one of our errors: ${Deno.inspect(error)}`);
    outcome = error;
  }
  const shown = Deno.inspect(outcome, { depth: 100, showHidden: true }) + JSON.stringify(outcome);
  const part = repeatedPart(shown, Object.values(canaries).concat(hash));
  assert(part === undefined, `${part} is shown`);
}

for (const flow of ["login", "refresh"] as const) {
  Deno.test(`${flow}() turns ${RUNS} invented responses into tokens or an AuthError`, async () => {
    await fc.assert(
      fc.asyncProperty(invented(SENT[flow]), async (one) => {
        const first = tokenAnswer({ ...TOKENS, RefreshToken: canaries.refreshToken });
        const answers: [Canned, ...Canned[]] = flow === "login"
          ? [answerOf(one)]
          : [first, answerOf(one)];
        const session = createSession({
          authUrl: "https://provider.example",
          clientId: CLIENT,
          clientSecret: canaries.clientSecret,
          userPoolId: "example_Pool",
          ...new Clock().options,
          fetch: cannedFetch(...answers).fetch,
        });
        const login = () => session.login({ username: NAME, password: canaries.password });
        if (flow === "refresh") await login();
        await assertDiscreet(flow === "login" ? login : () => session.refresh());
        await assertDiscreet(() => Promise.resolve(session.status()));
      }),
      { numRuns: RUNS },
    );
  });
}
