/** Settings that are nearly right are named, before a login asks or sends anything. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { createSession } from "../../mod.ts";
import { VARIABLES } from "../../src/settings/options.ts";
import { withEnvironment } from "../support/environment.ts";
import { portless, rejection } from "../support/portless.ts";

const UNSET = Object.fromEntries(Object.values(VARIABLES).map((name) => [name, undefined]));

type World = ReturnType<typeof portless>;

/** A session whose settings are these lines. It would be asked, and tells how often it was. */
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

function linesOf({ options }: World): Record<string, string> {
  return {
    AUTH_URL: options.authUrl ?? "",
    APP_CLIENT_ID: options.clientId ?? "",
    APP_CLIENT_SECRET: options.clientSecret ?? "",
    USER_POOL_ID: options.userPoolId ?? "",
    USERNAME: options.username ?? "",
    PASSWORD: options.password ?? "",
    API_BASE_URL: String(options.apiBaseUrl),
  };
}

function renamed(lines: Record<string, string>, from: string, to: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(lines).map(([name, value]) => [name === from ? to : name, value]),
  );
}

const near: [right: string, given: string][] = [
  ["USER_POOL_ID", "USER_POOLID"],
  ["API_BASE_URL", "API_BASEURL"],
  ["APP_CLIENT_SECRET", "APP_CLIENT_SECRT"],
  ["AUTH_URL", "auth_url"],
  ["APP_CLIENT_ID", "APPCLIENTID"],
];
for (const [right, given] of near) {
  Deno.test(`${given} in the .env: did you mean ${right}?`, async () => {
    await using world = portless({ file: true });
    await withEnvironment(UNSET, async () => {
      const { session, asked } = sessionWith(world, renamed(linesOf(world), right, given));
      const error = await rejection(session.login());
      assertEquals([error.code, asked(), world.sent.length], ["INVALID_SETTING", 0, 0]);
      const meant = `the .env has ${given}, which is no setting (did you mean ${right}?)`;
      assert(error.message.includes(`Cannot log in: ${meant}; correct the name`), error.message);
      assert(session.status().warnings.some((warning) => warning.startsWith(meant)));
      const { checks } = await session.doctor();
      assertEquals(checks.filter(({ message }) => message.includes(meant)).length, 1);
      const call = await rejection(session.authFetch("/v1/stations"));
      assertEquals(call.message.includes(meant), right === "API_BASE_URL", call.message);
    });
  });
}

Deno.test("a variable of the environment that is nearly a setting is named", async () => {
  await using world = portless({ file: true });
  const { API_BASE_URL, ...lines } = linesOf(world);
  await withEnvironment({ ...UNSET, API_BASEURL: API_BASE_URL }, async () => {
    const { session, asked } = sessionWith(world, lines);
    const error = await rejection(session.login());
    assertMatch(error.message, /the environment has API_BASEURL, .*did you mean API_BASE_URL\?/);
    assertEquals([asked(), world.sent.length], [0, 0]);
  });
});

Deno.test("lines of other programs, and names beside a setting that is set, stop no login", async () => {
  await using world = portless({ file: true });
  const others = {
    USER_NAME: "db",
    EDITOR: "vi",
    USER_POOLID: "old",
    DATABASE_URL: "x",
    AUTH: "1",
  };
  await withEnvironment({ ...UNSET, USER_NAME: "db", API_URL: "x" }, async () => {
    const { session } = sessionWith(world, { ...linesOf(world), ...others });
    const { state, warnings } = await session.login();
    assertEquals([state, warnings], ["valid", []]);
  });
});

Deno.test("a portal login needs no settings, so none of them stops it", async () => {
  await using world = portless({ file: true });
  await withEnvironment(UNSET, async () => {
    const { session } = sessionWith(world, { USER_POOLID: "x", PASSWORD: "a#b" });
    const portalToken = await world.sandbox.portalToken();
    assertEquals((await session.login({ portalToken })).state, "valid");
  });
});

const cut: [what: string, name: string, value: string][] = [
  ["a password", "PASSWORD", "secret#1"],
  ["a password that begins with it", "PASSWORD", "#secret1"],
  ["a client secret", "APP_CLIENT_SECRET", "ab'c#d"],
  ["an address", "API_BASE_URL", "https://api.example.com#v1"],
];
for (const [what, name, value] of cut) {
  Deno.test(`${what} with a # that no quotes keep is told before anything is sent`, async () => {
    await using world = portless({ file: true });
    await withEnvironment(UNSET, async () => {
      const { session, asked } = sessionWith(world, { ...linesOf(world), [name]: value });
      const error = await rejection(session.login());
      assertEquals([error.code, asked(), world.sent.length], ["INVALID_SETTING", 0, 0]);
      assertMatch(error.message, new RegExp(`${name} in the \\.env ends at a # .*single quotes`));
      assert(!error.message.includes(value.replace(/#.*/, "") || value), error.message);
      const { checks } = await session.doctor();
      assert(checks.some(({ level, message }) => level === "warn" && message.startsWith(name)));
    });
  });
}

const commented: [name: string, value: string, code: string][] = [
  ["PASSWORD", "Sandbox-Entry #1", "INVALID_CREDENTIALS"],
  ["PASSWORD", "Sandbox-Entry\t# 1", "INVALID_CREDENTIALS"],
  ["APP_CLIENT_SECRET", "no-secret #1", "SECRET_HASH_REJECTED"],
];
for (const [name, value, code] of commented) {
  Deno.test(`${name}=${value}: the doctor and the refusal say where it ends`, async () => {
    await using world = portless({ file: true });
    await withEnvironment(UNSET, async () => {
      const { session } = sessionWith(world, { ...linesOf(world), [name]: value });
      const told = `${name} in the .env ends before " #"`;
      const { checks } = await session.doctor();
      const found = checks.filter(({ message }) => message === told);
      assertEquals(found.map(({ level, fix }) => [level, fix]), [
        ["warn", "if the # belongs to it, put it in single quotes"],
      ]);
      // Often it is a comment, so nothing else speaks of it.
      assertEquals(session.status().warnings, []);
      const error = await rejection(session.login());
      assertEquals(error.code, code);
      assert(error.message.includes(`; ${told}; if the # belongs to it`), error.message);
    });
  });
}

Deno.test("a comment behind a password that is right, or in quotes, is mentioned by no login", async () => {
  await using world = portless({ file: true });
  await withEnvironment(UNSET, async () => {
    const { PASSWORD, APP_CLIENT_SECRET, ...lines } = linesOf(world);
    const { session } = sessionWith(world, {
      ...lines,
      PASSWORD: `${PASSWORD} # of the sandbox`,
      APP_CLIENT_SECRET: `'${APP_CLIENT_SECRET}' #1`,
    });
    const { state, warnings } = await session.login();
    assertEquals([state, warnings], ["valid", []]);
    const { checks } = await session.doctor();
    const names = checks.filter(({ message }) => message.includes(" #"));
    assertEquals(names.map(({ message }) => message.split(" ")[0]), ["PASSWORD"]);
  });
});

Deno.test("a # in quotes, behind a blank or in another line is no doubt", async () => {
  await using world = portless({ file: true });
  world.sandbox.addUser({ username: "ada", password: "pass#word" });
  await withEnvironment(UNSET, async () => {
    const { APP_CLIENT_ID } = linesOf(world);
    const lines = { ...linesOf(world), USERNAME: "ada # me", PASSWORD: "'pass#word'#comment" };
    const noted = {
      NOTE: `"\nUSERNAME=a#b\n"`,
      OTHER: "a#b",
      APP_CLIENT_ID: `${APP_CLIENT_ID} #x`,
    };
    const { session } = sessionWith(world, { ...lines, ...noted });
    const { state, warnings } = await session.login();
    assertEquals([state, warnings], ["valid", []]);
  });
});
