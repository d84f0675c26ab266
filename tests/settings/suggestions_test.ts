/** Suggestions for a missing or odd setting, in the doctor and in MISSING_SETTINGS. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { createSession, type Session } from "../../mod.ts";
import { VARIABLES } from "../../src/settings/options.ts";
import { withEnvironment } from "../support/environment.ts";
import { portless, rejection } from "../support/portless.ts";
import { variablesOf } from "../support/sandbox_env.ts";

const UNSET = Object.fromEntries(Object.values(VARIABLES).map((name) => [name, undefined]));

type World = ReturnType<typeof portless>;

/** A session whose settings are these lines, and the number of its prompts. */
function sessionWith(world: World, lines: Record<string, string>) {
  const { fetch, now, monotonic, sleep } = world.options;
  Deno.writeTextFileSync(
    world.envFile,
    Object.entries(lines).map(([name, value]) => `${name}=${value}\n`).join(""),
  );
  let questions = 0;
  const session = createSession({
    ...(fetch && now && monotonic && sleep && { fetch, now, monotonic, sleep }),
    envFile: world.envFile,
    prompt: () => {
      questions++;
      return "";
    },
  });
  return { session, asked: () => questions };
}

function renamed(lines: Record<string, string>, from: string, to: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(lines).map(([name, value]) => [name === from ? to : name, value]),
  );
}

const near: [right: string, given: string][] = [
  ["USER_POOL_ID", "USER_POOLID"],
  ["AUTH_URL", "auth_url"],
  ["APP_CLIENT_ID", "CLIENT_ID"],
  ["API_BASE_URL", "API_URL"],
];
/** The warnings of the doctor about this setting. */
async function warnings(session: Session, name: string): Promise<string[]> {
  const { checks } = await session.doctor();
  return checks.filter(({ level, message }) => level === "warn" && message.includes(name))
    .map(({ message, fix }) => `${message}; ${fix}`);
}

Deno.test("a line KEY: value in the .env is reported with its number", async () => {
  await using world = portless({ file: true });
  await withEnvironment(UNSET, async () => {
    const { API_BASE_URL, USER_POOL_ID, ...others } = variablesOf(world.sandbox.settings);
    const { session } = sessionWith(world, others);
    const count = Object.keys(others).length;
    Deno.writeTextFileSync(
      world.envFile,
      `API_BASE_URL: ${API_BASE_URL}\nPOOL_ID : ${USER_POOL_ID}\n`,
      { append: true },
    );
    const [api = ""] = await warnings(session, "API_BASE_URL");
    assertMatch(api, new RegExp(`line ${count + 1} of the \\.env .*; write API_BASE_URL=…`));
    const error = await rejection(session.login({ strategy: "environment" }));
    assertMatch(
      error.message,
      new RegExp(`line ${count + 2} of the \\.env .*write USER_POOL_ID=…`),
    );
    assertEquals(error.message.includes(USER_POOL_ID ?? "-"), false);
  });
});

for (const [right, given] of near) {
  Deno.test(`${given} in the .env: did you mean ${right}?`, async () => {
    await using world = portless({ file: true });
    await withEnvironment(UNSET, async () => {
      const { session, asked } = sessionWith(
        world,
        renamed(variablesOf(world.sandbox.settings), right, given),
      );
      const meant = `the .env has ${given}, which is not a setting (did you mean ${right}?)`;
      if (right === "API_BASE_URL") {
        // A login does not need it.
        assertEquals(await warnings(session, ` ${given},`), [`${meant}; correct the name`]);
        assertEquals((await session.login()).warnings, []);
        return;
      }
      const error = await rejection(session.login({ strategy: "environment" }));
      assertEquals([error.code, asked(), world.sent.length], ["MISSING_SETTINGS", 0, 0]);
      assert(
        error.message.includes(`; ${meant}; correct the name; set the missing values in`),
        error.message,
      );
      const { checks } = await session.doctor();
      assertEquals(checks.filter(({ message }) => message.includes(meant)).length, 1);
    });
  });
}

Deno.test("a variable whose name is almost that of a setting is suggested", async () => {
  await using world = portless({ file: true });
  const { APP_CLIENT_ID = "", ...lines } = variablesOf(world.sandbox.settings);
  await withEnvironment({ ...UNSET, APP_CLIENTID: APP_CLIENT_ID }, async () => {
    const { message } = await rejection(sessionWith(world, lines).session.login());
    assertMatch(message, /the environment has APP_CLIENTID, .*did you mean APP_CLIENT_ID\?/);
  });
});

Deno.test("half of user name and password in the environment: the other half is missing", async () => {
  await using world = portless({ file: true });
  const { USERNAME: _, PASSWORD: __, ...lines } = variablesOf(world.sandbox.settings);
  const pairs = [["PASSWORD", "USERNAME"], ["USERNAME", "PASSWORD"]] as const;
  // Windows itself sets USERNAME, so alone it says nothing.
  for (const [half, other] of Deno.build.os === "windows" ? pairs.slice(0, 1) : pairs) {
    await withEnvironment({ ...UNSET, [half]: "of-the-machine" }, async () => {
      const { session } = sessionWith(world, lines);
      const { code, message } = await rejection(session.login({ strategy: "environment" }));
      assertEquals(code, "MISSING_SETTINGS");
      const together = `the environment has ${half}, which is used only together with ${other}`;
      assertMatch(
        message,
        new RegExp(`: missing ${other}; ${together}; also set ${other} in the environment`),
      );
      assertEquals(await warnings(session, half), [
        `${together}; also set ${other} in the environment`,
      ]);
    });
  }
  // A name in the .env and a password in the environment are no pair.
  await withEnvironment({ ...UNSET, PASSWORD: "of-the-machine" }, async () => {
    const { session } = sessionWith(world, { ...lines, USERNAME: "student" });
    const { message } = await rejection(session.login({ strategy: "environment" }));
    assertMatch(message, /: missing PASSWORD; /);
  });
});

Deno.test("lines of other programs, and names similar to a setting that is set, are not suggested", async () => {
  await using world = portless({ file: true });
  const others = {
    USER_NAME: "db",
    EDITOR: "vi",
    USER_POOLID: "old",
    DATABASE_URL: "x",
    AUTH: "1",
    NOTE: `"\nUSERNAME=a#b\n"`,
    OTHER: "a#b",
  };
  world.sandbox.addUser({ username: "grace", password: "pass#word" });
  await withEnvironment({ ...UNSET, USER_NAME: "db", API_URL: "x" }, async () => {
    const { APP_CLIENT_ID } = variablesOf(world.sandbox.settings);
    const { session } = sessionWith(world, {
      ...variablesOf(world.sandbox.settings),
      ...others,
      APP_CLIENT_ID: `${APP_CLIENT_ID} # of the sandbox`,
      USERNAME: "grace # me",
      PASSWORD: "'pass#word'#comment",
    });
    const { state, warnings } = await session.login();
    assertEquals([state, warnings], ["valid", []]);
    const { checks } = await session.doctor();
    assertEquals(checks.filter(({ level, name }) => name === ".env" && level === "warn"), []);
  });
});

const cut: [what: string, name: string, value: string][] = [
  ["a password with a blank before it", "PASSWORD", "Sandbox-Entry #1"],
  ["a password that begins with it", "PASSWORD", "#secret1"],
  ["an address", "API_BASE_URL", "https://api.example.com#v1"],
];
for (const [what, name, value] of cut) {
  Deno.test(`${what} with a # that is not in quotes is a warning of the doctor only`, async () => {
    await using world = portless({ file: true });
    await withEnvironment(UNSET, async () => {
      const { session } = sessionWith(world, {
        ...variablesOf(world.sandbox.settings),
        [name]: value,
      });
      assertEquals(session.status().warnings, []);
      assertEquals(await warnings(session, name), [
        `${name} in the .env ends before a #; ` +
        "if the # belongs to the value, put the value in single quotes",
      ]);
      if (value.startsWith("#")) {
        const { message } = await rejection(session.login({ strategy: "environment" }));
        assertMatch(message, /missing PASSWORD; PASSWORD in the \.env ends before a #;/);
      }
    });
  });
}
