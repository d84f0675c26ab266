/** Suggestions of doctor() for a missing or misspelled setting. */
import { assert, assertEquals } from "@std/assert";
import type { Session } from "../../mod.ts";
import { bareSession, withOnly, writeLines } from "../support/bare_session.ts";
import { type Portless, portless, rejection } from "../support/portless.ts";
import { variablesOf } from "../support/sandbox_env.ts";

type Lines = Readonly<Record<string, string>>;

/** Calls `use` with a session that has only the settings of the sandbox, as changed by the test. */
async function withSession(
  change: (lines: Lines) => Lines,
  variables: Lines,
  use: (session: Session, world: Portless) => Promise<void>,
): Promise<void> {
  await using world = portless();
  writeLines(world, change(variablesOf(world.sandbox.settings)));
  await withOnly(variables, () => use(bareSession(world), world));
}

const without = (...names: string[]) => (lines: Lines): Lines =>
  Object.fromEntries(Object.entries(lines).filter(([name]) => !names.includes(name)));
const renamed = (right: string, given: string) => (lines: Lines): Lines => ({
  ...without(right)(lines),
  [given]: lines[right] ?? "",
});

const CUT =
  "the value of PASSWORD in the .env ends before a #; if the # belongs to the value, put ";
const CASES: [what: string, change: (lines: Lines) => Lines, said: string][] = [
  [
    "another spelling of USER_POOL_ID",
    renamed("USER_POOL_ID", "USER_POOLID"),
    "of the .env sets nothing, because it begins with USER_POOLID=; write USER_POOL_ID=…",
  ],
  [
    "a line with a colon",
    ({ API_BASE_URL = "", ...lines }) => ({ [`API_BASE_URL: ${API_BASE_URL}\nA`]: "1", ...lines }),
    "line 1 of the .env sets nothing, because it begins with API_BASE_URL:; write API_BASE_URL=…",
  ],
  ["a space and a # in a password", (lines) => ({ ...lines, PASSWORD: "Sandbox-Entry #1" }), CUT],
];
for (const [what, change, said] of CASES) {
  Deno.test(`doctor() suggests a correction for ${what}`, () =>
    withSession(change, {}, async (session) => {
      const { checks } = await session.doctor();
      const found = checks.filter(({ message, fix }) => `${message}; ${fix}`.includes(said));
      assertEquals(found.map(({ level }) => level), ["warn"]);
    }));
}

Deno.test("the error of login() says why PASSWORD alone in the environment is not used", () =>
  withSession(without("PASSWORD"), { PASSWORD: "of-the-job" }, async (session) => {
    const { code, message } = await rejection(session.login({ strategy: "environment" }));
    assertEquals(code, "MISSING_SETTINGS");
    const half = "the environment has PASSWORD, which is used only together with USERNAME";
    assert(message.includes(half), message);
  }));

Deno.test("a complete .env with lines of other programs leads to no suggestion", () =>
  withSession(
    (lines) => ({
      ...lines,
      USER_NAME: "db",
      DATABASE_URL: "x",
      OTHER: "a#b",
      USERNAME: "grace # me",
      PASSWORD: "'pass#word'#comment",
    }),
    {},
    async (session, { sandbox }) => {
      sandbox.addUser({ username: "grace", password: "pass#word" });
      const { state, warnings } = await session.login();
      assertEquals([state, warnings], ["valid", []]);
      const { checks } = await session.doctor();
      assert(!checks.some(({ name }) => name === "settings to check"));
    },
  ));
