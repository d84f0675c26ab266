/** Suggestions for a missing or misspelled setting, in doctor() and in MISSING_SETTINGS. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Session } from "../../mod.ts";
import { bareSession, withOnly, writeLines } from "../support/bare_session.ts";
import { portless, rejection } from "../support/portless.ts";
import { variablesOf } from "../support/sandbox_env.ts";

/** Calls `use` with a session that has only the settings of the sandbox, as changed by the test. */
async function withSession(
  change: (lines: Record<string, string>) => Record<string, string>,
  variables: Record<string, string>,
  use: (session: Session, world: ReturnType<typeof portless>) => Promise<void>,
): Promise<void> {
  await using world = portless();
  writeLines(world, change(variablesOf(world.sandbox.settings)));
  await withOnly(variables, () => use(bareSession(world), world));
}

/** The error message of a login that may not prompt. */
async function loginMessage(session: Session): Promise<string> {
  const { code, message } = await rejection(session.login({ strategy: "environment" }));
  assertEquals(code, "MISSING_SETTINGS");
  return message;
}

/** The warnings of doctor() that contain this text. */
async function warnings(session: Session, text: string): Promise<string[]> {
  const { checks } = await session.doctor();
  return checks.filter(({ level, message }) => level === "warn" && message.includes(text))
    .map(({ message, fix }) => `${message}; ${fix}`);
}

Deno.test("a line with a colon instead of an equals sign is reported with its line number", () =>
  withSession(
    ({ API_BASE_URL, USER_POOL_ID, ...others }) => ({
      [`API_BASE_URL: ${API_BASE_URL}\nPOOL_ID : ${USER_POOL_ID}\nMINE`]: "1",
      ...others,
    }),
    {},
    async (session, { sandbox }) => {
      const [api = ""] = await warnings(session, "API_BASE_URL");
      assertMatch(api, /line 1 of the \.env .*; write API_BASE_URL=…/);
      const message = await loginMessage(session);
      assertMatch(message, /line 2 of the \.env .*write USER_POOL_ID=…/);
      assertEquals(message.includes(sandbox.settings.userPoolId), false);
    },
  ));

const near: [right: string, given: string][] = [
  ["USER_POOL_ID", "USER_POOLID"],
  ["AUTH_URL", "auth_url"],
  ["APP_CLIENT_ID", "CLIENT_ID"],
  ["API_BASE_URL", "API_URL"],
];
for (const [right, given] of near) {
  Deno.test(`${given} in the .env leads to the suggestion ${right}`, () =>
    withSession(
      ({ [right]: value = "", ...others }) => ({ ...others, [given]: value }),
      {},
      async (session, { sent }) => {
        const problem = `the .env has ${given}, which is not a setting (did you mean ${right}?)`;
        const { checks } = await session.doctor();
        assertEquals(checks.filter(({ message }) => message.includes(problem)).length, 1);
        // A login does not need the API's address.
        if (right === "API_BASE_URL") {
          assertEquals((await session.login()).warnings, []);
          return;
        }
        const message = await loginMessage(session);
        assert(message.includes(`; ${problem}; correct the name; set the missing values in`));
        assertEquals(sent.length, 0);
      },
    ));
}

Deno.test("an environment variable with a name similar to a missing setting leads to a suggestion", () =>
  withSession(({ APP_CLIENT_ID: _, ...lines }) => lines, { APP_CLIENTID: "a" }, async (session) => {
    assertMatch(
      await loginMessage(session),
      /the environment has APP_CLIENTID, .*did you mean APP_CLIENT_ID\?/,
    );
  }));

// Windows itself sets USERNAME, so on Windows this variable alone is not reported.
const halves = Deno.build.os === "windows" ? ["PASSWORD"] : ["PASSWORD", "USERNAME"];
for (const half of halves) {
  const other = half === "PASSWORD" ? "USERNAME" : "PASSWORD";
  Deno.test(`${half} in the environment without ${other} is reported`, () =>
    withSession(
      ({ USERNAME: _, PASSWORD: __, ...lines }) => lines,
      { [half]: "of-the-machine" },
      async (session) => {
        const problem = `the environment has ${half}, which is used only together with ${other}; ` +
          `also set ${other} in the environment`;
        assert((await loginMessage(session)).includes(`: missing ${other}; ${problem}`));
        assertEquals(await warnings(session, half), [problem]);
      },
    ));
}

const missingHalves: [missing: string, fix: string][] = [
  ["USERNAME", "used only together with PASSWORD; pass it as an option"],
  ["PASSWORD", "used only together with USERNAME; also set USERNAME in the environment"],
];
for (const [missing, words] of missingHalves) {
  Deno.test(`the error for a missing ${missing} says why ${missing} in the environment is not used`, () =>
    withSession(
      ({ [missing]: _, ...lines }) => lines,
      // Also if USERNAME is the name of the computer's user.
      { [missing]: "ada", USER: "ada" },
      async (session) => {
        const problem = `missing ${missing}; the environment has ${missing}, which is ${words}; `;
        assertStringIncludes(await loginMessage(session), problem);
      },
    ));
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
    { USER_NAME: "db", API_URL: "x" },
    async (session, { sandbox }) => {
      sandbox.addUser({ username: "grace", password: "pass#word" });
      const { state, warnings } = await session.login();
      assertEquals([state, warnings], ["valid", []]);
      const { checks } = await session.doctor();
      assertEquals(checks.filter(({ level, name }) => name === ".env" && level === "warn"), []);
    },
  ));

const cut: [what: string, name: string, value: string][] = [
  ["a password with a space before a #", "PASSWORD", "Sandbox-Entry #1"],
  ["a password that begins with a #", "PASSWORD", "#secret1"],
  ["an address with a #", "API_BASE_URL", "https://api.example.com#v1"],
];
for (const [what, name, value] of cut) {
  Deno.test(`doctor() warns about ${what} that is not in quotes`, () =>
    withSession((lines) => ({ ...lines, [name]: value }), {}, async (session) => {
      assertEquals(session.status().warnings, []);
      const warning = `${name} in the .env ends before a #; ` +
        "if the # belongs to the value, put the value in single quotes";
      assertEquals(await warnings(session, name), [warning]);
      if (!value.startsWith("#")) return;
      assert((await loginMessage(session)).includes(`missing PASSWORD; ${warning}`));
    }));
}
