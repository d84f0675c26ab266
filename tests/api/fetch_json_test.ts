import { assert, assertEquals, assertMatch } from "@std/assert";
import { type ApiError, fetchJson, type FetchJsonInit } from "../../mod.ts";
import { rejection, signedIn } from "../support/portless.ts";
import { repeatedPart } from "../support/canaries.ts";

/**
 * The outcome of a call if the API returns these responses in turn, and the last one repeatedly.
 */
async function outcome(
  answers: (() => Response)[],
  init?: FetchJsonInit,
  path = "/v1/stations?day=1",
): Promise<{ value: unknown; error?: ApiError; sent: number; pauses: readonly number[] }> {
  await using world = await signedIn({
    api: (_, count) => (answers[Math.min(count, answers.length) - 1] ?? (() => new Response()))(),
  });
  const call = world.session.fetchJson(path, init);
  const value = await call.catch(() => undefined);
  const error = value === undefined ? await rejection(call) as ApiError : undefined;
  return { value, ...(error && { error }), sent: world.called.length, pauses: world.pauses };
}

const answer = (status: number, body: unknown = {}, headers: Record<string, string> = {}) => () =>
  typeof body === "string"
    ? new Response(status === 204 ? null : body, { status, headers })
    : Response.json(body, { status, headers });

Deno.test("fetchJson() returns the parsed body, and requests JSON", async () => {
  let accepted: (string | null)[] = [];
  await using world = await signedIn({
    api: ({ headers }) => {
      accepted = [...accepted, headers.get("accept")];
      return Response.json([{ id: 1 }]);
    },
  });
  assertEquals(await world.session.fetchJson<{ id: number }[]>("/v1/x"), [{ id: 1 }]);
  await world.session.fetchJson("/v1/x", { headers: { accept: "application/geo+json" } });
  assertEquals(accepted, ["application/json", "application/geo+json"]);
});

Deno.test("an error of the API contains the API's message, the address without its query, and the request id", async () => {
  const body = { error: "not_found", message: "There is no station 7." };
  const { error, sent } = await outcome([answer(404, body, { "x-request-id": "r-1" })]);
  assertEquals(error?.name, "ApiError");
  assertEquals(
    [error?.code, error?.status, error?.method, error?.requestId, error?.retryAfterSeconds],
    ["API_STATUS", 404, "GET", "r-1", undefined],
  );
  assertMatch(error?.url ?? "", /^https:\/\/[^?]+\/v1\/stations$/);
  assertMatch(
    error?.message ?? "",
    /^Cannot GET https:\S+\/v1\/stations because the API responded with 404 \(There is no station 7\); check the path \(/,
  );
  assertEquals(sent, 1);
});

/** A response whose body arrives byte by byte. */
const inBytes = (status: number, body: unknown) => () => {
  const bytes = [...new TextEncoder().encode(JSON.stringify(body))];
  const pieces = ReadableStream.from(bytes.map((byte) => Uint8Array.of(byte)));
  return new Response(pieces, { status });
};

const words: [string, () => Response, RegExp][] = [
  [
    "an empty message beside a nested sentence",
    answer(400, { message: "", error: { Message: "", title: "No such month" } }),
    /400 \(No such month\); check the/,
  ],
  [
    "letters that are split over pieces",
    inBytes(400, { message: "Größe 7 € fehlt" }),
    /400 \(Größe 7 € fehlt\); check the/,
  ],
  ["a list of errors", answer(400, { errors: [{ detail: "Bad day" }] }), /400 \(Bad day\)/],
  ["problem+json", answer(409, { title: "Conflict", detail: "In use" }), /409 \(In use\)/],
  [
    "XML of a file store",
    answer(403, "<Error><Message>Expired</Message></Error>"),
    /403 \(Expired\)/,
  ],
  ["plain text", answer(500, "out of order"), /500 \(out of order\); try again in a few minutes/],
  [
    "a page",
    answer(502, "<html><title>Bad gateway</title>"),
    /502 \(an HTML page with the title "Bad gateway"\)/,
  ],
];
for (const [what, response, message] of words) {
  Deno.test(`the API's own words are quoted: ${what}`, async () => {
    assertMatch((await outcome([response])).error?.message ?? "", message);
  });
}

const bodies: [string, () => Response, RegExp][] = [
  [
    "a login page",
    answer(200, '<!doctype html><title>Sign in</title><input type="password">'),
    /\(status 200\): it is an HTML page with the title "Sign in", which asks for a login, not JSON; .*API_BASE_URL/,
  ],
  [
    "CSV",
    answer(200, "a;b\n1;2\n", { "content-type": "text/csv" }),
    /content type text\/csv and begins with "a;b.*; save it with download\(\), or read text/,
  ],
  [
    "JSON that is cut off",
    answer(200, '[{"a":1},{"b":"NaN'),
    /it is JSON that is cut off or malformed; try/,
  ],
  ["what Python writes for a missing number", answer(200, '[{"a":NaN}]'), /it contains NaN or Inf/],
  [
    "a file",
    answer(200, "PAR1\u0000"),
    /it is not JSON, .*; save it with download\(\), or read text/,
  ],
  [
    "one JSON value a line",
    answer(200, '{"a":1}\n{"a":2}\n'),
    /it has one JSON value per line; read it with .*text\(\), and parse each line/,
  ],
];
for (const [what, response, message] of bodies) {
  Deno.test(`a body that is not JSON is an error: ${what}`, async () => {
    const { error } = await outcome([response]);
    assertEquals(error?.code, "API_BODY");
    assertMatch(error?.message ?? "", message);
  });
}

const json = { "content-type": "application/json" };
Deno.test("fetchJson() resolves to undefined for a response without a body", async () => {
  const empty: [string, () => Response][] = [
    ["DELETE", answer(204, "")],
    ["HEAD", () => new Response(null, { headers: { ...json, "content-length": "9" } })],
    ["GET", answer(200, "", json)],
    ["PUT", answer(201, "", { "content-type": "a; charset=x" })],
  ];
  for (const [method, response] of empty) {
    await using world = await signedIn({ api: response });
    assertEquals(await world.session.fetchJson("/v1/x", { method }), undefined);
  }
});

/** A response whose body is these bytes. */
const bytesIn = (type: string, bytes: number[] | Uint8Array, status = 200) => () =>
  new Response(Uint8Array.from(bytes), { status, headers: { "content-type": type } });
const utf16 = new Uint8Array(Uint16Array.from('{"a":"ü€"}', (char) => char.charCodeAt(0)).buffer);
const latin1 = Uint8Array.from('{"a":"\xfc"}', (char) => char.charCodeAt(0));

Deno.test("fetchJson() decodes a body in the charset that the response declares", async () => {
  const given: [() => Response, string][] = [
    [bytesIn("application/json;charset=ISO-8859-1", latin1), "ü"],
    [bytesIn('application/json; Charset="windows-1252"', latin1), "ü"],
    [bytesIn("application/json; charset=utf-16le", utf16), "ü€"],
  ];
  for (const [response, a] of given) assertEquals((await outcome([response])).value, { a });
});

Deno.test("fetchJson() names the charset in which a body is not text, unless the status is the error", async () => {
  const wrong: [string, Uint8Array, string][] = [
    ["application/json", latin1, "utf-8"],
    ["application/json; charset=klingon-7", new TextEncoder().encode('{"a":1}'), "klingon-7"],
  ];
  for (const [type, bytes, charset] of wrong) {
    const { error, sent } = await outcome([bytesIn(type, bytes)]);
    assertEquals([error?.code, error?.body, sent], ["API_BODY", undefined, 1], type);
    assertEquals(error?.problem.includes(charset), true, error?.problem);
    const refused = await outcome([bytesIn(type, bytes, 400)]);
    assertEquals(refused.error?.code, "API_STATUS");
  }
});

Deno.test("an ApiError has the body of the response, which its JSON leaves out", async () => {
  const list = { errors: [{ field: "day", message: "bad" }] };
  const sent = [list, "", "x".repeat(70_000)];
  const bodies = [list, undefined, "x".repeat(65_536)];
  for (const [at, body] of sent.entries()) {
    const { error } = await outcome([answer(422, body)]);
    assertEquals(error?.body, bodies[at]);
    assertEquals(JSON.stringify(error).includes("field"), false);
  }
  assertEquals((await outcome([answer(200, "a,b\n1,2")])).error?.body, "a,b\n1,2");
});

/** The body of the error where the API repeats what it received. */
async function echoed(echo: (token: string) => BodyInit, headers = {}): Promise<unknown> {
  let token = "";
  await using world = await signedIn({
    api: (request) => {
      token = request.headers.get("authorization")?.replace("bearer ", "") ?? "";
      return new Response(echo(token), { status: 422, headers: { "content-type": "text/plain" } });
    },
  });
  const call = world.session.fetchJson("/v1/x?sig=1234567890", { headers });
  const { body } = await rejection(call) as ApiError;
  assertEquals(repeatedPart(JSON.stringify(body), [token]), undefined);
  return body;
}

Deno.test("ApiError.body has the rest of a body that repeats the token", async () => {
  const json = (value: (token: string) => unknown) => (token: string) =>
    JSON.stringify(value(token));
  const escaped = (text: string) =>
    [...text].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
  const bodies: [(token: string) => string, unknown][] = [
    [
      json((token) => ({ error: "bad day", seen: `bearer ${token}`, days: [1, null, "2"] })),
      { error: "bad day", seen: "bearer [secret]", days: [1, null, "2"] },
    ],
    [json((token) => ({ [token]: [`${token} and ${token}`] })), {
      "[secret]": ["[secret] and [secret]"],
    }],
    [(token) => `{"a":"x\\n","b":"${escaped(token)}"}`, { a: "x\n", b: "[secret]" }],
    [(token) => `no such\nday: ${token}\n`, "no such\nday: [secret]"],
  ];
  for (const [echo, body] of bodies) assertEquals(await echoed(echo), body);
  const headers = { "x-api-key": "key-of-the-user" };
  assertEquals(
    await echoed(() => "key-of-the-user, sig 1234567890", headers),
    "[secret], sig [secret]",
  );
  assertEquals(await echoed(() => '{"sig":1234567890,"n":-1.5e3}'), { sig: "[secret]", n: -1500 });
});

Deno.test("ApiError.body withholds text that repeats an encoded token or a part of one", async () => {
  const withheld = "[withheld: it repeats a secret]";
  const forms: ((token: string) => string)[] = [
    (token) => token.slice(5, 40),
    (token) => `Basic ${btoa(token)}`,
    (token) => [...token].map((char) => `%${char.charCodeAt(0).toString(16)}`).join(""),
  ];
  for (const form of forms) {
    assertEquals(await echoed((token) => `it was ${form(token)}`), withheld);
    const json = (token: string) => JSON.stringify({ error: "bad day", seen: [form(token)] });
    assertEquals(await echoed(json), { error: "bad day", seen: [withheld] });
  }
});

const wait = { "retry-after": "10" };
const retried: [string, (() => Response)[], FetchJsonInit | undefined, number, number][] = [
  [
    "a 429 is repeated until the API responds with 200",
    [answer(429), answer(429), answer(200)],
    {},
    3,
    200,
  ],
  ["503 also", [answer(503, {}, wait), answer(200)], {}, 2, 200],

  ["at most 3 times", [answer(429)], {}, 4, 429],
  ["as often as is said", [answer(429)], { retries: 1 }, 2, 429],
  ["never", [answer(429)], { retries: 0 }, 1, 429],
  ["not after the deadline", [answer(429, {}, wait)], { retryWithinMs: 9_999 }, 1, 429],
  ["not a POST", [answer(503)], { method: "POST", body: "x" }, 1, 503],
  ["not 502", [answer(502)], {}, 1, 502],
];
for (const [what, answers, init, wanted, status] of retried) {
  Deno.test(`fetchJson() and retries: ${what}`, async () => {
    const { sent, error } = await outcome(answers, init);
    assertEquals([sent, error?.status ?? 200], [wanted, status]);
    if (wanted > 2) assertEquals(/after \d attempts/.test(error?.message ?? ""), status !== 200);
  });
}

Deno.test("fetchJson() waits for Retry-After, or reports it if it is too long", async () => {
  const { pauses } = await outcome([answer(503, {}, wait), answer(200)]);
  assertEquals(pauses.length, 1);
  assert((pauses[0] ?? 0) >= 10_000, `${pauses}`);
  const { error, sent } = await outcome([answer(429, {}, { "retry-after": "120" })]);
  assertEquals([sent, error?.retryAfterSeconds], [1, 120]);
  assertMatch(error?.message ?? "", /wait 120 seconds, as the API asks, then try again/);
});

Deno.test("a page with a million unclosed tags is reported, too", async () => {
  // In time that grows with the square of its length this would take hours.
  const { error } = await outcome([answer(200, `<html>${"<title".repeat(1_000_000)}`)]);
  assertMatch(error?.message ?? "", /it is an HTML page, not JSON/);
});

Deno.test("a response that breaks off is an error, and so is a token that is refused for good", async () => {
  const cut = () =>
    new Response(new ReadableStream({ start: (it) => it.error(new TypeError("broke")) }));
  assertMatch((await outcome([cut])).error?.message ?? "", /status 200\): it broke off; try again/);
  const { error } = await outcome([answer(401)]);
  assertMatch(error?.message ?? "", /responded with 401.*run login\(\{ force: true \}\)/);
});

Deno.test("wrong arguments are a TypeError that contains their names", async () => {
  await using world = await signedIn();
  const loose = world.session.fetchJson as (...values: unknown[]) => Promise<unknown>;
  const wrong: [unknown[], RegExp][] = [
    [[5], /must be a string, a URL or a Request, not number/],
    [["/x", new Headers()], /must be a plain object/],
    [["/x", { retries: -1 }], /zero or more/],
    [["/x", { retrys: 3 }], /no option "retrys" \(did you mean "retries"\?\)/],
    [["/x", { idleTimeoutMs: NaN }], /idleTimeoutMs must be zero or more milliseconds/],
    // The error for an option of another client says what to write instead.
    [
      ["/x", { params: { limit: 5 } }],
      /no option "params"; put them into the path: `.*\?\$\{new URL/,
    ],
    [["/x", { json: {} }], /no option "json"; write method: "POST", body: JSON\.stringify/],
  ];
  for (const [values, message] of wrong) {
    const error = await rejection(loose(...values));
    assertEquals(error.name, "TypeError", `${error}`);
    assertMatch(error.message, message);
  }
  assertEquals([world.called.length, typeof fetchJson], [0, "function"]);
});
