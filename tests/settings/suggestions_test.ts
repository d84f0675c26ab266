/** Suggestions of doctor() for a missing or misspelled setting. */
import { assert, assertEquals } from "@std/assert";
import type { Session } from "../../mod.ts";
import { bareSession, writeLines } from "../support/bare_session.ts";
import { withOnly } from "../support/environment.ts";
import { type Portless, portless, rejection } from "../support/portless.ts";
import { variablesOf } from "../support/sandbox_env.ts";

/** Calls `use` with a session that has only the `.env` of the sandbox, as edited by the test. */
async function withSession(
  edit: (text: string) => string,
  variables: Record<string, string>,
  use: (session: Session, world: Portless) => Promise<void>,
): Promise<void> {
  await using world = portless();
  writeLines(world, variablesOf(world.sandbox.settings));
  Deno.writeTextFileSync(world.envFile, edit(Deno.readTextFileSync(world.envFile)));
  await withOnly(variables, () => use(bareSession(world), world));
}

const CASES: [what: string, line: string | RegExp, edited: string, said: string][] = [
  [
    "another spelling of USER_POOL_ID",
    "USER_POOL_ID=",
    "USER_POOLID=",
    "of the .env sets nothing, because it begins with USER_POOLID=; write USER_POOL_ID=…",
  ],
  [
    "a line with a colon",
    "AUTH_URL=",
    "AUTH_URL: ",
    "line 1 of the .env sets nothing, because it begins with AUTH_URL:; write AUTH_URL=…",
  ],
  [
    "a space and a # in a password",
    /^PASSWORD=.*$/m,
    "PASSWORD=Sandbox-Entry #1",
    "the value of PASSWORD in the .env ends before a #; if the # belongs to the value, put ",
  ],
];
for (const [what, line, edited, said] of CASES) {
  Deno.test(`doctor() suggests a correction for ${what}`, () =>
    withSession((text) => text.replace(line, edited), {}, async (session) => {
      const { checks } = await session.doctor();
      const found = checks.filter(({ message, fix }) => `${message}; ${fix}`.includes(said));
      assertEquals(found.map(({ level }) => level), ["warn"]);
    }));
}

Deno.test("the error of login() says why PASSWORD alone in the environment is not used", () => {
  const withoutPassword = (text: string) => text.replace(/^PASSWORD=.*$/m, "");
  return withSession(withoutPassword, { PASSWORD: "of-the-job" }, async (session) => {
    const { code, message } = await rejection(session.login({ strategy: "environment" }));
    assertEquals(code, "MISSING_SETTINGS");
    const half = "the environment has PASSWORD, which is used only together with USERNAME";
    assert(message.includes(half), message);
  });
});

Deno.test("a complete .env with lines of other programs leads to no suggestion", () => {
  const account = "USERNAME=grace # me\nPASSWORD='pass#word'#comment\n";
  const others = "USER_NAME=db\nDATABASE_URL=x\nOTHER=a#b\n";
  return withSession((text) => text + account + others, {}, async (session, { sandbox }) => {
    sandbox.addUser({ username: "grace", password: "pass#word" });
    const { state, warnings } = await session.login();
    assertEquals([state, warnings], ["valid", []]);
    const { checks } = await session.doctor();
    assert(!checks.some(({ name }) => name === "settings to check"));
  });
});
