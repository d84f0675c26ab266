/**
 * What a status or a diagnosis looks like, as a card and as text. Whether a notebook shows it is
 * tested in `tests/kernel` and `tests/browser`.
 */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { createSession, type Diagnosis, type SessionStatus } from "../../mod.ts";
import { diagnosisCard, downloadsCard, statusCard } from "../../src/show/card.ts";
import { displayable } from "../../src/show/displayable.ts";
import { ApiError } from "../../src/errors/errors.ts";
import { diagnosisText, statusText } from "../../src/show/status_text.ts";
import { jsonText } from "../../src/errors/escape.ts";

const NOW = Date.UTC(2026, 0, 15, 9);
const GREEN = "#1f9d63";
const AMBER = "#c98500";
const RED = "#d64545";
const GRAY = "#7d8590";
const HOSTILE =
  `<script>alert(1)</script>"'&\u202e\u001b[31m\u0007\r\n<img src=x onerror=alert(2)>`;

function inMinutes(minutes: number): Date {
  return new Date(NOW + minutes * 60_000);
}

/** A session that is good, except for what is given. */
function made(given: Partial<SessionStatus> = {}): SessionStatus {
  return {
    state: "valid",
    username: "ada",
    provider: "https://identity-provider.sandbox.example",
    clientId: "client-1",
    accessTokenExpiresAt: inMinutes(30),
    accessTokenLifetimeSeconds: 1_800,
    refreshableUntil: inMinutes(30 * 24 * 60),
    canRefresh: true,
    source: "password",
    settings: {},
    warnings: [],
    notices: [],
    asOf: new Date(NOW),
    ...given,
  };
}

/** The color of the frame. */
function toneOf(html: string): string | undefined {
  return /border-left:4px solid (#\w+)/.exec(html)?.[1];
}

const STATES: [string, Partial<SessionStatus>, string, RegExp][] = [
  [
    "good",
    {},
    GREEN,
    /● Signed in as ada at identity-provider.*good for 30 min.*refreshed automatically/s,
  ],
  [
    "a token with an unknown expiry",
    { state: "unknown" },
    GREEN,
    /● Signed in as ada.*unknown expiry/s,
  ],
  [
    "a portal token that tells no expiry",
    { state: "unknown", canRefresh: false, source: "portal" },
    AMBER,
    /unknown expiry/,
  ],
  [
    "a portal token of 20 minutes",
    {
      canRefresh: false,
      source: "portal",
      accessTokenExpiresAt: inMinutes(20),
    },
    GREEN,
    /good for 20 min.*cannot be refreshed/s,
  ],
  [
    "a portal token of 4 minutes",
    {
      canRefresh: false,
      source: "portal",
      accessTokenExpiresAt: inMinutes(4),
    },
    AMBER,
    /good for 4 min.*cannot be refreshed/s,
  ],
  [
    "good with a warning",
    {
      warnings: ["the clock is wrong"],
      notices: [{ code: "CLOCK", level: "warning", problem: "the clock is wrong" }],
    },
    AMBER,
    /! the clock is wrong/,
  ],
  [
    "a portal token of 20 minutes, with the warning that it cannot be refreshed",
    {
      canRefresh: false,
      source: "portal",
      warnings: ["a portal token cannot be refreshed"],
      notices: [{
        code: "PORTAL_TOKEN",
        level: "warning",
        problem: "a portal token cannot be refreshed",
      }],
    },
    GREEN,
    /! a portal token cannot be refreshed/,
  ],
  ["good with a note", { notes: ["the mode is private now"] }, GREEN, /- the mode is private now/],
  [
    "refreshable",
    {
      state: "refreshable",
      accessTokenExpiresAt: inMinutes(-10),
    },
    AMBER,
    /◐ Signed in as ada.*expired 10 min ago.*the next call refreshes it/s,
  ],
  [
    "expired",
    {
      state: "expired",
      canRefresh: false,
      accessTokenExpiresAt: inMinutes(-10),
    },
    RED,
    /○ Session ended.*expired 10 min ago · run login\(\)/s,
  ],
  [
    "a portal token that ended",
    {
      state: "expired",
      canRefresh: false,
      source: "portal",
      accessTokenExpiresAt: inMinutes(-10),
    },
    RED,
    /copy a new portal string/,
  ],
  [
    "a token that the API refused",
    { state: "rejected", canRefresh: false },
    RED,
    /○ The API refused this token; log in again.*refused by the API · run login\(\)/s,
  ],
  [
    "a portal token that the API refused",
    { state: "rejected", canRefresh: false, source: "portal" },
    RED,
    /refused by the API · copy a new portal string/,
  ],
  [
    "signed out a moment ago",
    { state: "none", canRefresh: false, source: "none", notes: ["signed out"] },
    GRAY,
    /○ Not signed in.*- signed out/s,
  ],
  [
    "no session",
    {
      state: "none",
      canRefresh: false,
      source: "none",
    },
    GRAY,
    /○ Not signed in.*no access token · run login\(\)/s,
  ],
];

for (const [what, given, color, words] of STATES) {
  Deno.test(`a status shows in its color and says so in words: ${what}`, () => {
    const status = made(given);
    assertEquals(toneOf(statusCard(status)), color);
    const text = statusText(status);
    assertMatch(text, words);
    const { warnings, notes = [] } = status;
    assertEquals(text.split("\n").length, 3 + warnings.length + notes.length);
    for (const each of [...warnings, ...notes]) assertStringIncludes(statusCard(status), each);
  });
}

Deno.test("times are shown to the minute and in UTC, and one that is none is said to be unknown", () => {
  const text = statusText(made());
  assertStringIncludes(text, "good for 30 min, until 2026-01-15 09:30 UTC");
  assertStringIncludes(text, "as of 2026-01-15 09:00 UTC");
  assertStringIncludes(statusCard(made()), "as of 2026-01-15 09:00 UTC");
  assertStringIncludes(statusText(made({ asOf: new Date(NaN) })), "as of an unknown time");
});

Deno.test("a card holds no script, no style sheet, no handler and nothing to load", () => {
  const cards = STATES.map(([, given]) => statusCard(made(given)));
  for (const card of [...cards, diagnosisCard(DIAGNOSIS)]) {
    assertEquals(card.match(/<(script|style|link|iframe|img|a)\b|\son\w+=|https?:|url\(/i), null);
    assertBalanced(card);
  }
});

Deno.test("the bar of a card is what is left of the token's own lifetime, and nothing in it moves", () => {
  const stories: [minutes: number, lifetimeSeconds: number, width: string][] = [
    [30, 1_800, "100.0"],
    [15, 1_800, "50.0"],
    [24 * 60, 86_400, "100.0"],
    [6 * 60, 86_400, "25.0"],
    [5, 300, "100.0"],
    [31, 1_800, "100.0"],
    [0.01, 1_800, "2.0"],
  ];
  for (const [minutes, accessTokenLifetimeSeconds, width] of stories) {
    const accessTokenExpiresAt = inMinutes(minutes);
    const card = statusCard(made({ accessTokenExpiresAt, accessTokenLifetimeSeconds }));
    const [, shown] = /d="M0 3H([\d.]+)" stroke-width="6" stroke="#/.exec(card) ?? [];
    assertEquals(shown, width);
    // A saved card would begin anew whenever its notebook is opened.
    assertEquals(card.match(/<(animate|set)|animation|transition|@keyframes/i), null);
  }
  const { accessTokenLifetimeSeconds: _, ...unknown } = made();
  assertEquals(statusCard(unknown).includes("<svg"), false, "no known lifetime, no bar");
  for (const state of ["none", "expired", "refreshable", "unknown", "rejected"] as const) {
    assertEquals(statusCard(made({ state })).includes("<svg"), false, state);
  }
});

Deno.test("hostile names stay text in a card and move no cursor in a terminal", () => {
  const status = made({
    username: HOSTILE,
    provider: `https://x.example/${HOSTILE}`,
    clientId: HOSTILE,
    envFile: `/data/${HOSTILE}/.env`,
    warnings: [HOSTILE],
    notes: [HOSTILE],
  });
  const card = statusCard(status);
  assertStringIncludes(card, "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;");
  assertBalanced(card);
  const diagnosis: Diagnosis = {
    ok: false,
    checks: [{ name: HOSTILE, level: "fail", message: HOSTILE, fix: HOSTILE }],
  };
  assertBalanced(diagnosisCard(diagnosis));
  assertEquals(statusText(status).split("\n").length, 5);
  assertMatch(diagnosisText(diagnosis), /^✗ [^\n]+\n {2}→ [^\n]+$/);
  for (const shown of [card, diagnosisCard(diagnosis)]) {
    assertEquals(/<(script|img)/i.test(shown), false);
    assertInert(shown);
  }
  for (const shown of [statusText(status), diagnosisText(diagnosis)]) {
    assertInert(shown.replaceAll("\n", ""));
  }
});

Deno.test("marks that turn the direction of text, or hide in it, are taken out", () => {
  const marks = "\u061c\u200b\u200e\u200f\u202a\u202e\u2060\u2066\u2069\ufeff";
  const status = made({ username: `ada${marks}\u{e0041}` });
  assertStringIncludes(statusText(status), "Signed in as ada at");
  assertStringIncludes(statusCard(status), "Signed in as ada at");
});

const DIAGNOSIS: Diagnosis = {
  ok: false,
  checks: [
    { name: "runtime", level: "ok", message: "Deno in a notebook" },
    { name: "proxy", level: "warn", message: "requests go through a proxy", fix: "set NO_PROXY" },
    { name: "settings", level: "fail", message: "APP_CLIENT_ID is missing", fix: "ask for it" },
    { name: "clock", level: "skip", message: "nothing to compare with" },
  ],
};

Deno.test("a diagnosis shows a line for each check, with its fix, and the worst color", () => {
  const text = diagnosisText(DIAGNOSIS);
  assertEquals(text.split("\n").length, 4);
  assertMatch(text, /^✗ settings: APP_CLIENT_ID is missing → ask for it$/m);
  const long = {
    name: "settings",
    level: "fail",
    message: "AUTH_URL ".repeat(9),
    fix: "ask",
  } as const;
  assertMatch(diagnosisText({ ok: false, checks: [long] }), /AUTH_URL \n {2}→ ask$/);
  const card = diagnosisCard(DIAGNOSIS);
  for (const { name, message, fix = "" } of DIAGNOSIS.checks) {
    for (const words of [name, message, fix]) assertStringIncludes(card, words);
  }
  assertEquals(toneOf(card), RED);
  assertStringIncludes(card, "1 thing to fix");
  const others = DIAGNOSIS.checks.filter(({ level }) => level !== "fail");
  assertEquals(toneOf(diagnosisCard({ ok: true, checks: others })), AMBER);
  assertEquals(toneOf(diagnosisCard({ ok: true, checks: others.slice(0, 1) })), GREEN);
});

Deno.test("JSON for a terminal holds control and bidirectional characters as escapes only", () => {
  const value = { name: `a\u202e\u009b\u007f\u2028\u0007\u{e0041}b`, list: ["\u2066", 1, null] };
  for (const text of [jsonText(value), jsonText(value, 2)]) {
    assertInert(text.replaceAll("\n", ""));
    assertEquals(text.match(/\p{Cf}/u), null);
    assertEquals(JSON.parse(text), value);
  }
});

Deno.test("a status stays plain data: what makes it show is neither listed nor in its JSON", () => {
  const status = displayable(made());
  assertEquals(Object.keys(status), Object.keys(made()));
  assertEquals(JSON.stringify(status), JSON.stringify(made()));
  assertEquals(Deno.inspect(status), statusText(made()));
});

Deno.test("a call that a card names stays in one line", () => {
  const portal = made({ source: "portal", canRefresh: false, state: "expired" });
  const checks = [{
    name: "a",
    level: "fail" as const,
    message: "b",
    fix: "run logout({ now: 1 })",
  }];
  for (const card of [statusCard(portal), diagnosisCard({ ok: false, checks })]) {
    const [, options = ""] = /log(?:in|out)\(\{(.*?)\}\)/.exec(card) ?? [];
    assertMatch(options, /^\u00a0\w+:\u00a0\S+\u00a0$/);
  }
});

Deno.test("the card of many downloads says of each failure what to do, on a line of its own", () => {
  const error = new ApiError(
    "API_STATUS",
    "Cannot GET it, as <it> is not there",
    "check the path",
    {
      method: "GET",
      url: "https://api.example/v1/x",
    },
  );
  const counts = { saved: 0, kept: 0, failed: 2 };
  const failed = [error, new TypeError("no network")]
    .map((error) => ({ input: "/v1/x", file: "x.json", error }));
  const card = downloadsCard({ saved: [], kept: [], failed, counts, bytes: 0, milliseconds: 0 });
  const lines = card.replace(/<br>/g, "\n").replace(/<[^>]*>/g, "");
  assertStringIncludes(
    lines,
    "/v1/x → x.json\nCannot GET it, as &lt;it&gt; is not there\n→ check the path",
  );
  assertStringIncludes(lines, "/v1/x → x.json\nno network");
});

Deno.test("the card of a portal token links to the portal, and its text names it", () => {
  const portalUrl = 'https://portal.example/?a=1&b="2"';
  const given = { source: "portal", canRefresh: false, portalUrl } as const;
  const soon = `a portal token cannot be refreshed; then copy a new one at ${portalUrl} or log in`;
  for (const more of [{ state: "expired" }, { warnings: [soon] }] as const) {
    const status = made({ ...given, ...more, warnings: [...more.warnings ?? []] });
    const card = statusCard(status);
    const [, href] = /<a href="([^"]+)" target="_blank">https:/.exec(card) ?? [];
    assertEquals(href, "https://portal.example/?a=1&amp;b=&quot;2&quot;");
    assertBalanced(card);
    assertStringIncludes(statusText(status), portalUrl);
  }
});

Deno.test("a session that is printed shows its status, or why it has none, and stays what it is", async () => {
  const session = createSession({ envFile: false, username: "ada" });
  assertEquals(Deno.inspect(session), Deno.inspect(session.status()));
  assertEquals(Object.keys(session).includes("login"), true);
  const shown = await Reflect.get(session, Symbol.for("Jupyter.display"))();
  assertStringIncludes(shown["text/html"], "Not signed in");
  const file = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(file, "AUTH_URL=https://a\u0007.example\n");
    const unread = createSession({ envFile: file });
    assertMatch(Deno.inspect(unread), /Cannot use AUTH_URL .* control character/);
    const card = await Reflect.get(unread, Symbol.for("Jupyter.display"))();
    assertStringIncludes(card["text/html"], "Cannot use AUTH_URL");
  } finally {
    await Deno.remove(file);
  }
});

/** Every element that is opened is closed, in order: nothing broke out of its place. */
function assertBalanced(html: string): void {
  const open: string[] = [];
  for (const [, end, name = ""] of html.matchAll(/<(\/?)([a-z]+)(?:\s[\w-]+="[^"<>]*")*>/g)) {
    if (end) assertEquals(open.pop(), name);
    else if (name !== "br") open.push(name);
  }
  assertEquals(open, []);
  assertEquals(html.replace(/<\/?[a-z]+(?:\s[\w-]+="[^"<>]*")*>/g, "").match(/[<>"']/), null);
}

/** No control character and nothing that turns the direction of text. */
function assertInert(text: string): void {
  // deno-lint-ignore no-control-regex -- control characters are what is looked for
  assertEquals(text.match(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/), null);
}
