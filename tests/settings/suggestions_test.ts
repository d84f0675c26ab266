/** Suggestions of doctor() for a missing or misspelled setting. */
import { assert, assertEquals } from "@std/assert";
import type { Session } from "../../mod.ts";
import { bareSession, withOnly, writeLines } from "../support/bare_session.ts";
import { portless, rejection } from "../support/portless.ts";
import { variablesOf } from "../support/sandbox_env.ts";

type Lines = Readonly<Record<string, string>>;

/** Calls `use` with a session that has only the settings of the sandbox, as changed by the test. */
async function withSession(
  change: (lines: Lines) => Lines,
  variables: Lines,
  use: (session: Session, world: ReturnType<typeof portless>) => Promise<void>,
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
const set = (name: string, value: string) => (lines: Lines): Lines => ({ ...lines, [name]: value });

const CASES: [what: string, change: (lines: Lines) => Lines, variables: Lines, said: string][] = [
  ...[
    ["USER_POOL_ID", "USER_POOLID"],
    ["AUTH_URL", "auth_url"],
    ["APP_CLIENT_ID", "APP_CLIENTID"],
  ].map(([right = "", given = ""]): typeof CASES[number] => [
    `${given} instead of ${right}`,
    renamed(right, given),
    {},
    `of the .env sets nothing, because it begins with ${given}=; write ${right}=…`,
  ]),
  [
    "a line with a colon",
    ({ API_BASE_URL = "", ...lines }) => ({ [`API_BASE_URL: ${API_BASE_URL}\nA`]: "1", ...lines }),
    {},
    "line 1 of the .env sets nothing, because it begins with API_BASE_URL:; write API_BASE_URL=…",
  ],
  [
    "PASSWORD alone in the environment",
    without("USERNAME", "PASSWORD"),
    { PASSWORD: "of-the-machine" },
    "the environment has PASSWORD, which is used only together with USERNAME; also set USERNAME in the environment",
  ],
  [
    "PASSWORD in the environment and USERNAME in the .env",
    without("PASSWORD"),
    { PASSWORD: "of-the-machine" },
    "the environment has PASSWORD, which is used only together with USERNAME; also set USERNAME in the environment",
  ],
  ...[
    ["a space and a # in a password", "PASSWORD", "Sandbox-Entry #1"],
    ["a # at the beginning of a password", "PASSWORD", "#secret1"],
  ].map(([what = "", name = "", value = ""]): typeof CASES[number] => [
    what,
    set(name, value),
    {},
    `the value of ${name} in the .env ends before a #; if the # belongs to the value, put the value in single`,
  ]),
];
for (const [what, change, variables, said] of CASES) {
  Deno.test(`doctor() suggests a correction for ${what}`, () =>
    withSession(change, variables, async (session) => {
      const { checks } = await session.doctor();
      const found = checks.filter(({ message, fix }) => `${message}; ${fix}`.includes(said));
      assertEquals(found.map(({ level }) => level), ["warn"]);
    }));
}

Deno.test("the error for a missing setting does not guess, and sends nothing", () =>
  withSession(renamed("USER_POOL_ID", "USER_POOLID"), {}, async (session, { sent }) => {
    const { code, message } = await rejection(session.login({ strategy: "environment" }));
    assertEquals(code, "MISSING_SETTINGS");
    assert(message.startsWith("Cannot log in: missing USER_POOL_ID; set the missing values in "));
    assertEquals(sent, []);
  }));

for (const [variable, others] of [["PASSWORD", "USERNAME"], ["USERNAME", "PASSWORD"]] as const) {
  Deno.test(`the error of login() says why ${variable} alone in the environment is not used`, () =>
    withSession(without(variable), { [variable]: "of-the-job" }, async (session) => {
      const { code, message } = await rejection(session.login({ strategy: "environment" }));
      assertEquals(code, "MISSING_SETTINGS");
      const half = `the environment has ${variable}, which is used only together with ${others}`;
      assert(message.includes(half), message);
    }));
}

Deno.test("a complete .env with lines of other programs leads to no suggestion", () =>
  withSession(
    (lines) => ({
      ...lines,
      USER_NAME: "db",
      EDITOR: "vi",
      USER_POOLID: "old",
      DATABASE_URL: "x",
      AUTH: "1",
      NOTE: `"\nUSERNAME=a#b\n"`,
      OTHER: "a#b",
      APP_CLIENT_ID: `${lines.APP_CLIENT_ID} # of the sandbox`,
      USERNAME: "grace # me",
      PASSWORD: "'pass#word'#comment",
    }),
    { USER_NAME: "db", APP_CLIENTID: "x" },
    async (session, { sandbox }) => {
      sandbox.addUser({ username: "grace", password: "pass#word" });
      const { state, warnings } = await session.login();
      assertEquals([state, warnings], ["valid", []]);
      const { checks } = await session.doctor();
      assert(!checks.some(({ name }) => name === "settings to check"));
    },
  ));
