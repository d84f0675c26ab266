import { assert } from "@std/assert";
import { fc, rounds } from "../support/property.ts";
import { AuthError, computeSecretHash, createSession } from "../../mod.ts";
import { type Canned, cannedFetch } from "../support/canned_fetch.ts";
import { tokenAnswer, TOKENS } from "../support/answers.ts";
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

const SUCCESS = {
  AuthenticationResult: {
    AccessToken: "opaque-token",
    ExpiresIn: 1800,
    RefreshToken: "next-refresh-token",
    TokenType: "Bearer",
  },
  ChallengeName: "SMS_MFA",
  ChallengeParameters: { hint: "your pet" },
  Session: "a session",
};
const REFUSAL = {
  __type: "a.b#NotAuthorizedException",
  message: "SecretHash does not match",
  code: "TooManyRequestsException",
};

/** An object like the given one, in which members are missing or have other values. */
function nearly(good: object, other: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const members = Object.entries(good).map(([name, value]) => {
    const arbitrary = typeof value === "object" ? nearly(value, other) : fc.constant(value);
    return [name, fc.oneof({ arbitrary, weight: 3 }, { arbitrary: other, weight: 1 })];
  });
  return fc.record(Object.fromEntries(members), { requiredKeys: [] });
}

function invented(secrets: string[]): fc.Arbitrary<Invented> {
  const echoed = echo(secrets);
  const other = fc.oneof(fc.constantFrom(null, -1, 1e300, "", []), fc.jsonValue(), echoed);
  const json = fc.oneof(nearly(SUCCESS, other), nearly(REFUSAL, other), other)
    .map((value) => JSON.stringify(value));
  const cut = fc.tuple(json, fc.nat(200)).map(([text, at]) => text.slice(0, at));
  const bytes = fc.uint8Array({ maxLength: 200 }).map((it) => new Uint8Array(it));
  const value = fc.oneof(
    fc.constantFrom("-1", "1e9", "Wed, 01 Jan 2031 00:00:00 GMT", "a#b:c#d", "https://a.example/"),
    echoed,
  );
  const name = fc.constantFrom(
    ...["x-amzn-errortype", "x-request-id", "retry-after", "date", "location", "content-type"],
  );
  return fc.record({
    status: fc.oneof(fc.constantFrom(200, 400), fc.integer({ min: 200, max: 599 })),
    headers: fc.array(fc.tuple(name, value), { maxLength: 3 }),
    body: fc.oneof({ arbitrary: json, weight: 5 }, cut, bytes, fc.constant("<html>"), echoed),
  });
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
