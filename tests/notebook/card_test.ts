/**
 * The display of a status or a diagnosis, as a card and as text. Whether a notebook shows it is
 * tested in `kernel/` and `browser/`.
 */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Diagnosis, SessionStatus } from "../../mod.ts";
import { cardHtml } from "../../src/show/card.ts";
import { diagnosisView } from "../../src/show/diagnosis.ts";
import { displayable } from "../../src/show/displayable.ts";
import { displayableDownloads } from "../../src/show/download_view.ts";
import { statusView } from "../../src/show/status_view.ts";
import { type View, viewText } from "../../src/show/view.ts";
import { ApiError } from "../../src/errors/errors.ts";

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

/** A valid session, except for what is given. */
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

function drawn(view: View): { text: string; card: string; color: string | undefined } {
  const card = cardHtml(view);
  return { text: viewText(view), card, color: /border-left:4px solid (#\w+)/.exec(card)?.[1] };
}

/** The text of a card without its markup. */
function wordsOf(card: string): string {
  const entities: Record<string, string> = { nbsp: " ", lt: "<", gt: ">", quot: '"', "#39": "'" };
  return card.replace(/<br>|<\/tr>/g, "\n").replace(/<[^>]*>/g, "")
    .replace(/\u00a0/g, " ").replace(/&([a-z#\d]+);/g, (_, name) => entities[name] ?? "&");
}

const PORTAL = { canRefresh: false, source: "portal" } as const;
const OVER = { state: "expired", canRefresh: false, accessTokenExpiresAt: inMinutes(-10) } as const;
const GONE = { state: "none", canRefresh: false, source: "none" } as const;
const CLOCK = { code: "CLOCK", level: "warning", problem: "clock is off", fix: "set it" } as const;
const ENDS = { code: "PORTAL_TOKEN", level: "warning", problem: "it ends" } as const;
const IN_4 = { accessTokenExpiresAt: inMinutes(4) };

const STATES: [what: string, given: Partial<SessionStatus>, color: string, words: RegExp][] = [
  ["valid", {}, GREEN, /^● Signed in as ada at id.*for 30 min, until 2026-01-15 09:30 UTC.*auto/s],
  ["unknown expiry", { state: "unknown" }, GREEN, /● Signed in as ada.*unknown expiry/s],
  ["portal string", PORTAL, GREEN, /valid for 30 min.*copy a new portal string/s],
  ["portal string that ends soon", { ...PORTAL, ...IN_4 }, AMBER, /for 4 min/],
  ["warning", { notices: [CLOCK] }, AMBER, /^! warning: clock is off → set it$/m],
  ["warning of the end", { ...PORTAL, notices: [ENDS] }, GREEN, /^! warning: it ends$/m],
  [
    "refreshable",
    { state: "refreshable", accessTokenExpiresAt: inMinutes(-10) },
    AMBER,
    /◐ Signed in as ada.*expired 10 min ago.*the next call refreshes the token/s,
  ],
  ["expired", OVER, RED, /○ Session ended.*expired 10 min ago\n.*next: run login\(\)/s],
  ["portal string, expired", { ...OVER, ...PORTAL }, RED, /copy a new portal string/],
  [
    "rejected",
    { state: "rejected", canRefresh: false },
    RED,
    /○ The API rejected this token; log in again.*rejected by the API\n.*run login\(\)/s,
  ],
  ["signed out", { ...GONE, ended: "everywhere" }, GRAY, /○ Not .*signed out: on all devices/s],
  ["no session", GONE, GRAY, /○ Not signed in.*next: run login\(\)\n {2}session: login\(\) keeps/s],
];

Deno.test("the text and the card of a status agree in words and color", async (t) => {
  for (const [what, given, color, words] of STATES) {
    await t.step(what, () => {
      const { text, card, color: seen } = drawn(statusView(made(given)));
      assertEquals(seen, color);
      assertMatch(text, words);
      const rows = text.split("\n").slice(1).map((line) => line.replace(/^.*?: /, ""));
      for (const row of rows.join(" → ").split(" → ")) assertStringIncludes(wordsOf(card), row);
    });
  }
});

Deno.test("the bar of a card shows the remaining lifetime of the token", () => {
  const cases: [minutes: number, lifetimeSeconds: number, width: string][] = [
    [6 * 60, 86_400, "25.0"],
    [31, 1_800, "100.0"],
    [0.01, 1_800, "2.0"],
  ];
  for (const [minutes, accessTokenLifetimeSeconds, width] of cases) {
    const accessTokenExpiresAt = inMinutes(minutes);
    const status = made({ accessTokenExpiresAt, accessTokenLifetimeSeconds });
    const [, shown] = /d="M0 3H([\d.]+)" stroke-width="6" stroke="#/
      .exec(cardHtml(statusView(status))) ?? [];
    assertEquals(shown, width);
  }
  assertEquals(cardHtml(statusView(made({ state: "unknown" }))).includes("<svg"), false);
});

Deno.test("a card contains only inert markup, also of hostile names", () => {
  const status = made({
    username: HOSTILE,
    provider: `https://x.example/${HOSTILE}`,
    clientId: HOSTILE,
    envFile: `/data/${HOSTILE}/.env`,
    notices: [{ ...CLOCK, problem: HOSTILE, fix: HOSTILE }],
  });
  const checks = [{ name: HOSTILE, level: "fail", message: HOSTILE, fix: HOSTILE }] as const;
  const hostile = [statusView(status), diagnosisView({ ok: false, checks: [...checks] })];
  const usual = [...STATES.map(([, given]) => statusView(made(given))), diagnosisView(DIAGNOSIS)];
  for (const { text, card } of [...hostile, ...usual].map(drawn)) {
    assertEquals(
      card.match(/<(script|style|link|iframe|img|a|animate|set)\b|<[^>]*\son\w+=/i),
      null,
    );
    assertEquals(card.match(/https?:|url\(|animation|transition|@keyframes/i), null);
    assertBalanced(card);
    assertInert(card);
    assertInert(text.replaceAll("\n", ""));
  }
  for (const { card } of hostile.map(drawn)) {
    assertStringIncludes(card, "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;");
  }
  assertEquals(viewText(statusView(status)).split("\n").length, 7);
  const marks = "\u061c\u200b\u200e\u200f\u202a\u202e\u2060\u2066\u2069\ufeff\u{e0041}";
  assertStringIncludes(drawn(statusView(made({ username: `ada${marks}` }))).text, "as ada at");
});

const DIAGNOSIS: Diagnosis = {
  ok: false,
  checks: [
    { name: "runtime", level: "ok", message: "Deno in a notebook" },
    { name: "proxy", level: "warn", message: "requests use a proxy", fix: "set NO_PROXY" },
    { name: "settings", level: "fail", message: "APP_CLIENT_ID is missing", fix: "ask for it" },
    { name: "clock", level: "skip", message: "nothing to compare with" },
    { name: "token", level: "fail", message: "AUTH_URL ".repeat(9), fix: "ask" },
  ],
};

Deno.test("a diagnosis shows each check with its fix, in the color of the worst check", () => {
  const { text, card, color } = drawn(diagnosisView(DIAGNOSIS));
  assertEquals([color, text.split("\n").length], [RED, 7]);
  assertMatch(text, /^○ 2 things to fix · 5 checks$/m);
  assertMatch(text, /^✗ settings: APP_CLIENT_ID is missing → ask for it$/m);
  assertMatch(text, /AUTH_URL \n {2}→ ask$/);
  for (const { message, fix = "" } of DIAGNOSIS.checks) {
    assertStringIncludes(card, message);
    assertStringIncludes(card, fix);
  }
  const others = DIAGNOSIS.checks.filter(({ level }) => level !== "fail");
  assertEquals(drawn(diagnosisView({ ok: true, checks: others })).color, AMBER);
  const ready = drawn(diagnosisView({ ok: true, checks: others.slice(0, 1) }));
  assertEquals(ready.color, GREEN);
  assertMatch(ready.text, /^● Ready · 1 check\n/);
});

Deno.test("the display methods of a status are neither among its keys nor in its JSON", () => {
  const status = displayable(made());
  assertEquals(Object.keys(status), Object.keys(made()));
  assertEquals(JSON.stringify(status), JSON.stringify(made()));
  assertEquals(Deno.inspect(status), viewText(statusView(made())));
});

Deno.test("the card of downloadAll() shows the fix for each failure on a separate line", async () => {
  const facts = { method: "GET", url: "https://api.example/v1/x" };
  const error = new ApiError("API_STATUS", "Cannot GET <it>", "check the path", facts);
  const counts = { saved: 0, kept: 0, failed: 2 };
  const failed = [error, new TypeError("no network")]
    .map((error) => ({ input: "/v1/x", file: "x.json", error }));
  const lists = { saved: [], kept: [], failed };
  const downloads = displayableDownloads({ ...lists, counts, bytes: 0, milliseconds: 0 });
  const { "text/html": card } = await Reflect.get(downloads, Symbol.for("Jupyter.display"))();
  const words = wordsOf(card);
  assertStringIncludes(words, "/v1/x → x.json: Cannot GET <it>\n→ check the path");
  assertStringIncludes(words, "/v1/x → x.json: no network");
});

Deno.test("the result of downloadAll() shows up to 20 failures, and how many more there are", () => {
  const shown = (failures: number) => {
    const failed = Array(failures).fill({ input: "/x", file: "x", error: new Error("no") });
    const counts = { saved: 1, kept: 0, failed: failures };
    const lists = { saved: [], kept: [], failed };
    const text = Deno.inspect(
      displayableDownloads({ ...lists, counts, bytes: 9, milliseconds: 9 }),
    );
    return [text.match(/\/x →/g)?.length, /and \d+ more/.exec(text)?.[0]];
  };
  assertEquals([0, 20, 22].map(shown), [
    [undefined, undefined],
    [20, undefined],
    [20, "and 2 more"],
  ]);
});

Deno.test("the card for a portal string links to the portal, and its text contains the address", () => {
  const portalUrl = 'https://portal.example/?a=1&b="2"';
  const soon = { ...ENDS, fix: `copy a new one at ${portalUrl} or log in` };
  for (const more of [{ state: "expired" }, { notices: [soon] }] as const) {
    const { text, card } = drawn(statusView(made({ ...PORTAL, portalUrl, ...more })));
    const [, href] = /<a href="([^"]+)" target="_blank">https:/.exec(card) ?? [];
    assertEquals(href, "https://portal.example/?a=1&amp;b=&quot;2&quot;");
    assertBalanced(card);
    assertStringIncludes(text, portalUrl);
  }
});

/** Asserts that all elements are closed in order, so that no text became markup. */
function assertBalanced(html: string): void {
  const open: string[] = [];
  for (const [, end, name = ""] of html.matchAll(/<(\/?)([a-z]+)(?:\s[\w-]+="[^"<>]*")*>/g)) {
    if (end) assertEquals(open.pop(), name);
    else if (name !== "br") open.push(name);
  }
  assertEquals(open, []);
  assertEquals(html.replace(/<\/?[a-z]+(?:\s[\w-]+="[^"<>]*")*>/g, "").match(/[<>"']/), null);
}

/** Asserts that no character controls a terminal or changes the direction of text. */
function assertInert(text: string): void {
  // deno-lint-ignore no-control-regex -- the test looks for control characters
  assertEquals(text.match(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/), null);
}
