import { assert, assertEquals, assertMatch } from "@std/assert";
import type { ApiError, FetchJsonInit } from "../../mod.ts";
import { rejection, signedIn } from "../support/portless.ts";

/** The error of a call if the API returns this response. */
async function failure(response: () => Response): Promise<ApiError> {
  await using world = await signedIn({ api: response });
  return await rejection(world.session.fetchJson("/v1/stations?day=1")) as ApiError;
}

const answer = (status: number, body: unknown = {}, headers: Record<string, string> = {}) => () =>
  typeof body === "string" || body instanceof Uint8Array
    ? new Response(status === 204 ? null : body as BodyInit, { status, headers })
    : Response.json(body, { status, headers });

Deno.test("fetchJson() requests JSON unless the caller sets an accept header", async () => {
  await using world = await signedIn({
    api: ({ headers }) => Response.json([headers.get("accept")]),
  });
  const { session: { fetchJson } } = world;
  const own = { headers: { accept: "application/geo+json" } };
  assertEquals(await fetchJson("/v1/x"), ["application/json"]);
  assertEquals(await fetchJson("/v1/x", own), ["application/geo+json"]);
  const request = new Request("https://api.sandbox.example/v1/x", own);
  assertEquals(await fetchJson(request), ["application/geo+json"]);
});

Deno.test("an ApiError describes the response and the request, without the query", async () => {
  const body = { error: "not_found", message: "There is no station 7." };
  const error = await failure(answer(404, body, { "x-request-id": "r-1" }));
  const { name, code, status, method, requestId, retryAfterSeconds } = error;
  assertEquals([name, code, status, method], ["ApiError", "API_STATUS", 404, "GET"]);
  assertEquals([requestId, retryAfterSeconds], ["r-1", undefined]);
  assertMatch(error.url, /^https:\/\/[^?]+\/v1\/stations$/);
  assertMatch(
    error.message,
    /^Cannot GET https:\S+\/v1\/stations because the API responded with 404 \(There is no station 7\); check the path \(/,
  );
});

const MESSAGES = [
  { errors: [{ detail: "No such day" }] },
  { title: "Conflict", detail: "No such day" },
  { code: 7, description: "No such day" },
  { msg: "No such day." },
  { message: { code: 7, message: "No such day" } },
  { message: "", error: { Message: "", title: "No such day" } },
];
Deno.test("an ApiError quotes the message, whatever its name in the JSON of the API is", async () => {
  for (const body of MESSAGES) {
    assertMatch((await failure(answer(400, body))).message, /400 \(No such day\); check the/);
  }
});

const PLACES = [
  { loc: ["query", "limit"], msg: "Input should be a valid integer", type: "int_parsing" },
  { loc: ["body", {}, "days", 0], msg: "Field required" },
];
const latin1Of = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
const LATIN1 = latin1Of('{"a":"\xfc"}');

const quoted: [what: string, status: number, body: unknown, message: RegExp][] = [
  [
    "the XML of a file store",
    403,
    "<Error><Message>Old</Message></Error>",
    /403 \(<Error>.*Old.*\)/,
  ],
  ["plain text", 500, "out of order", /500 \(out of order\); try again in a few minutes/],
  [
    "the list of FastAPI, with the place of each mistake",
    422,
    { detail: PLACES },
    /422 \(query\.limit: Input should be a valid integer; body\.days\.0: Field required\)/,
  ],
  ["JSON nested too deep for the stack", 400, "[".repeat(3e4) + "]".repeat(3e4), /400 \(\[\[/],
  ["not if it is in another charset", 400, LATIN1, /responded with 400; check/],
  ["not if it is a binary file", 400, "PAR1\0\x01", /responded with 400; check/],
  [
    "a page without its title, which is not UTF-8",
    400,
    latin1Of("<html><title>Zur\xfcck</title>"),
    /responded with 400 \(an HTML page\); check/,
  ],
  ["text that is cut off within a character", 400, "€".repeat(30_000), /400 \(€+…\)/],
  [
    "the text of a 401",
    401,
    "no",
    /401 \(no\); run login\(\{ force: true \}\), then try again/,
  ],
  [
    "the title of a page",
    502,
    "<html><title>Bad gateway</title>",
    /502 \(an HTML page with the title "Bad gateway"\)/,
  ],
];
for (const [what, status, body, message] of quoted) {
  Deno.test(`an ApiError quotes the API's message: ${what}`, async () => {
    assertMatch((await failure(answer(status, body))).message, message);
  });
}

const bodies: [what: string, body: unknown, type: string, message: RegExp][] = [
  [
    "a login page",
    '<!doctype html><title>Sign in</title><input type="password">',
    "text/html",
    /\(status 200\): it is an HTML page with the title "Sign in", not JSON; .*API_BASE_URL/,
  ],
  [
    "a page with a million unclosed tags, without delay",
    `<html>${"<title".repeat(1_000_000)}`,
    "text/html",
    /it is an HTML page, not JSON/,
  ],
  [
    "CSV",
    "a;b\n1;2\n",
    "text/csv",
    /content type text\/csv and begins with "a;b.*; save it with download\(\), or read it/,
  ],
  [
    "NaN, which Python writes for a missing number",
    '[{"a":NaN}]',
    "application/json",
    /it is not JSON, has the content type \S+ and begins with "\[\{"a":NaN\}\]"; .*text\(\)/,
  ],
  ["text that is not UTF-8", LATIN1, "application/json", /not text in the charset utf-8; save it/],
  ["an unknown charset", "[1]", "application/json; charset=klingon-7", /in the charset klingon-7;/],
  [
    "a binary file",
    "PAR1\u0000",
    "application/json",
    /it is not JSON, .* and is binary data; save it with download\(\), or read it/,
  ],
];
for (const [what, body, type, message] of bodies) {
  Deno.test(`fetchJson() rejects a body that is not JSON: ${what}`, async () => {
    const error = await failure(answer(200, body, { "content-type": type }));
    assertEquals([error.code, `${error.body}`.includes("\ufffd")], ["API_BODY", false]);
    assertMatch(error.message, message);
  });
}

const UNSIGNED = { message: "Missing Authentication Token" };
const HEADER = { "x-amzn-errortype": "MissingAuthenticationTokenException" };
const TOO_LARGE = "<html><title>400 Request Header Or Cookie Too Large</title>";
const fixes: [what: string, response: () => Response, fix: RegExp, input?: string][] = [
  ["an unknown path of AWS API Gateway", answer(403, UNSIGNED), /^check the path$/],
  ["such a path, reported only in a header", answer(403, "", HEADER), /^check the path$/],
  [
    "such a path that replaces the path of API_BASE_URL",
    answer(403, UNSIGNED),
    /it replaces the path \/prod\/ of API_BASE_URL/,
    "/stations",
  ],
  [
    "another 403",
    answer(403, { message: "Forbidden" }),
    /for this permission; another login does not help$/,
  ],
  ["a 431", answer(431, ""), /^send fewer or shorter headers/],
  [
    "headers that are too large for nginx",
    answer(400, TOO_LARGE),
    /^send fewer or shorter headers/,
  ],
];
for (const [what, response, fix, input = "stations"] of fixes) {
  Deno.test(`an ApiError says what to do about ${what}`, async () => {
    const session = { apiBaseUrl: "https://api.example/prod" };
    await using world = await signedIn({ session, api: response });
    assertMatch((await rejection(world.session.fetchJson(input)) as ApiError).fix, fix);
  });
}

Deno.test("fetchJson() resolves to undefined for a response without a body", async () => {
  const empty: [string, () => Response][] = [
    ["DELETE", answer(204, "")],
    ["HEAD", () => new Response(null, { headers: { "content-length": "9" } })],
    ["GET", answer(200, "", { "content-type": "application/json" })],
    ["PUT", answer(201, "", { "content-type": "a; charset=x" })],
  ];
  for (const [method, response] of empty) {
    await using world = await signedIn({ api: response });
    assertEquals(await world.session.fetchJson("/v1/x", { method }), undefined);
  }
});

const UTF16 = new Uint8Array(Uint16Array.from('{"a":"ü€"}', (char) => char.charCodeAt(0)).buffer);
const charsets: [type: string, body: Uint8Array, a: string][] = [
  ["application/json;charset=ISO-8859-1", LATIN1, "ü"],
  ['application/json; Charset="windows-1252"', LATIN1, "ü"],
  ["application/json; charset=utf-16le", UTF16, "ü€"],
  ["application/json; charset=iso-8859-1, application/json", LATIN1, "ü"],
  ["application/json, application/json;charset=utf-16le", UTF16, "ü€"],
];
for (const [type, body, a] of charsets) {
  Deno.test(`fetchJson() decodes a body with the content type ${type}`, async () => {
    await using world = await signedIn({ api: answer(200, body, { "content-type": type }) });
    assertEquals(await world.session.fetchJson("/v1/x"), { a });
  });
}

Deno.test("ApiError.body contains up to 64 KiB of the response", async () => {
  const list = { errors: [{ field: "day", message: "bad" }] };
  const bodies: [number, unknown, unknown][] = [
    [422, list, list],
    [422, "", undefined],
    [422, "x".repeat(70_000), "x".repeat(65_536)],
    [200, "a,b\n1,2", "a,b\n1,2"],
  ];
  for (const [status, sent, body] of bodies) {
    assertEquals((await failure(answer(status, sent))).body, body);
  }
});

const FILLED = "x".repeat(65_500);
const repeated: [what: string, echo: (token: string) => string, body: unknown][] = [
  [
    "in JSON",
    (token) => JSON.stringify({ error: "bad day", seen: `bearer ${token}`, days: [1, null] }),
    { error: "bad day", seen: "bearer [secret]", days: [1, null] },
  ],
  [
    "with escaped characters",
    (token) => `["\\u${token.charCodeAt(0).toString(16).padStart(4, "0")}${token.slice(1)}"]`,
    ["[secret]"],
  ],
  ["in plain text", (token) => `no such\nday: ${token}\n`, "no such\nday: [secret]"],
  ["from a header or the query", () => "key-of-the-user, sig 12345678", "[secret], sig [secret]"],
  ["at the end of the first 64 KiB", (token) => FILLED + token, `${FILLED}[secret]`],
];
for (const [what, echo, body] of repeated) {
  Deno.test(`ApiError.body hides a secret that the response repeats ${what}`, async () => {
    await using world = await signedIn({
      api: ({ headers }) => {
        const token = headers.get("authorization")?.replace("bearer ", "") ?? "";
        return new Response(echo(token), { status: 422 });
      },
    });
    const headers = { "x-api-key": "key-of-the-user" };
    const call = world.session.fetchJson("/v1/x?sig=12345678", { headers });
    assertEquals((await rejection(call) as ApiError).body, body);
  });
}

const retried: [what: string, statuses: number[], init: FetchJsonInit, requests: number][] = [
  ["three times by default", [429], {}, 4],
  ["until the API responds with another status", [429, 503, 404], {}, 3],
  ["once with retries: 1", [429], { retries: 1 }, 2],
  ["never with retries: 0", [429], { retries: 0 }, 1],
  ["never if the API asks to wait longer than retryWithinMs", [429], { retryWithinMs: 9_999 }, 1],
  ["never for a POST", [503], { method: "POST", body: "x" }, 1],
  ["never after a 502", [502], {}, 1],
];
for (const [what, statuses, init, requests] of retried) {
  Deno.test(`fetchJson() retries ${what}`, async () => {
    const headers = { "retry-after": "10" };
    await using world = await signedIn({
      api: (_, count) => new Response("", { status: statuses[count - 1] ?? 429, headers }),
    });
    const { message } = await rejection(world.session.fetchJson("/v1/x", init));
    assertEquals(message.includes(`after ${requests} attempts`), requests > 1);
    assertEquals(world.called.length, requests);
  });
}

Deno.test("fetchJson() waits as long as a 503 asks with Retry-After, up to a minute", async () => {
  const waits = ["10", undefined, "120"];
  await using world = await signedIn({
    api(_, count) {
      const seconds = waits[count - 1];
      if (seconds === undefined) return Response.json(1);
      return new Response("", { status: 503, headers: { "retry-after": seconds } });
    },
  });
  await world.session.fetchJson("/v1/x");
  const [pause = 0, ...others] = world.pauses;
  assert(pause >= 10_000 && others.length === 0, `${world.pauses}`);
  const error = await rejection(world.session.fetchJson("/v1/x")) as ApiError;
  assertEquals([world.called.length, error.retryAfterSeconds], [3, 120]);
  assertMatch(error.message, /wait 120 seconds, as the API asks, then try again/);
});

Deno.test("the name of the host does not affect the reason of a network error", async () => {
  const apiBaseUrl = "https://ssl-proxy.example";
  await using world = await signedIn({
    session: { apiBaseUrl },
    api: ({ url }) => {
      throw new TypeError(
        `error sending request for url (${url}): tcp connect error: os error 110`,
      );
    },
  });
  const { code, message } = await rejection(world.session.fetchJson("/v1/x"));
  assertEquals(code, "API_UNREACHABLE");
  assertMatch(message, /\(the request failed\)/);
});

Deno.test("fetchJson() rejects a response that is cut off", async () => {
  const cut = () =>
    new Response(new ReadableStream({ start: (it) => it.error(new TypeError("broke")) }));
  assertMatch((await failure(cut)).message, /status 200\): it broke off; try again/);
});

Deno.test("fetchJson() passes the options that it does not know to fetch", async () => {
  let given: RequestInit | undefined;
  await using world = await signedIn({ api: () => Response.json(1) });
  const { fetch = globalThis.fetch } = world.options;
  const other = world.another({
    fetch: (input, init) => {
      given = init;
      return fetch(input, init);
    },
  });
  await other.login();
  await other.fetchJson("/x", { mode: "cors", cache: "no-store", ...{ newOption: 1 } });
  const { mode, cache, newOption } = { newOption: 0, ...given };
  assertEquals([mode, cache, newOption], ["cors", "no-store", 1]);
});

Deno.test("fetchJson() rejects a wrong argument", async () => {
  await using world = await signedIn();
  const loose = world.session.fetchJson as (...values: unknown[]) => Promise<unknown>;
  const wrong: [unknown[], RegExp][] = [
    [[5], /must be a string, a URL or a Request, not number/],
    [["/x", new Headers()], /must be a plain object/],
    [["/x", { retries: -1 }], /zero or more/],
    [["/x", { retries: "1" }], /takes number as "retries"/],
    [["/x", { idleTimeoutMs: NaN }], /idleTimeoutMs must be zero or more milliseconds/],
  ];
  for (const [values, message] of wrong) {
    const error = await rejection(loose(...values));
    assertEquals(error.name, "TypeError", `${error}`);
    assertMatch(error.message, message);
  }
  assertEquals(world.called, []);
});
