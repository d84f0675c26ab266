import { assertEquals, assertInstanceOf, assertMatch } from "@std/assert";
import { type Ask, ConfigError, createSession, type LoginOptions } from "../../mod.ts";
import { portless, rejection } from "../support/portless.ts";

/** The prompts so far, and a prompt that returns these answers in turn, then fails the test. */
function answering(...answers: (string | null)[]): {
  prompt: Ask;
  asked: { message: string; secret: boolean }[];
} {
  const asked: { message: string; secret: boolean }[] = [];
  const left = [...answers];
  return {
    asked,
    prompt: (message, { secret }) => {
      asked.push({ message, secret });
      if (left.length === 0) throw new Error(`asked once too often: ${message}`);
      return left.shift() ?? null;
    },
  };
}

/** A session that has all settings but user name and password, and can ask. */
function asking(world: ReturnType<typeof portless>, prompt: Ask) {
  const { username: _, password: __, ...rest } = world.options;
  return createSession({ ...rest, prompt });
}

Deno.test("login() asks one masked question, for the portal string", async () => {
  await using world = portless();
  const { prompt, asked } = answering(await world.sandbox.portalToken());
  assertEquals((await asking(world, prompt).login()).source, "portal");
  assertEquals(asked.map((it) => it.secret), [true], "what was pasted is not kept in the notebook");
  assertMatch(asked[0]?.message ?? "", /Copy Token[^]*press Enter for user name and password/);
  assertEquals(world.sent.length, 0);
});

Deno.test("login() asks for user name and password after Enter, the latter masked", async () => {
  await using world = portless();
  const { prompt, asked } = answering("", " student ", world.options.password ?? "");
  const status = await asking(world, prompt).login();
  assertEquals(status.source, "password");
  assertEquals(asked.map((it) => it.secret), [true, false, true]);
  assertEquals(world.sent[0]?.parameters.USERNAME, "student");
});

Deno.test("the prompt for a password shows the host that receives it, and the file with that host", async () => {
  await using world = portless({ file: true });
  const { authUrl = "", password = "", username: _, ...rest } = world.options;
  const inFile = `AUTH_URL=${authUrl}\nUSERNAME=student\u202e\n`;
  Deno.writeTextFileSync(world.envFile, inFile);
  const { prompt, asked } = answering(password);
  await rejection(createSession({ ...rest, prompt }).login({ strategy: "password" }));
  const host = new URL(authUrl).host.replaceAll(".", "\\.");
  assertMatch(
    asked[0]?.message ?? "",
    new RegExp(`^Password of student for ${host}\n\\(host set in .*\\.env\\):$`),
  );
});

Deno.test("the parts of a host all come from the strongest source that has one", async () => {
  await using world = portless({ file: true });
  const { authUrl: _, password: __, ...rest } = world.options;
  const parts = { provider: "vendor", providerHost: "idp", region: "north-1" } as const;
  Deno.writeTextFileSync(world.envFile, "AUTH_PROVIDER_DOMAIN=stranger.example\n");
  const { prompt, asked } = answering("");
  const session = createSession({ ...rest, ...parts, prompt });
  assertEquals((await rejection(session.login({ strategy: "password" }))).code, "MISSING_SETTINGS");
  assertEquals(asked, []);
  Deno.writeTextFileSync(
    world.envFile,
    "AUTH_PROVIDER_HOST=idp\nAUTH_REGION=north-1\nAUTH_PROVIDER_DOMAIN=own.example\n",
  );
  const own = createSession({ ...rest, prompt });
  await rejection(own.login({ strategy: "password" }));
  assertMatch(
    asked[0]?.message ?? "",
    /^Password of student for idp\.north-1\.own\.example\n\(host set in .*\.env\):$/,
  );
});

Deno.test("a rejected password may be typed again once", async () => {
  await using world = portless();
  const wrong = "Not-The-Password-1";
  const second = answering("", "student", wrong, world.options.password ?? "");
  assertEquals((await asking(world, second.prompt).login()).state, "valid");
  assertMatch(second.asked.at(-1)?.message ?? "", /rejected/);
  const twice = answering("", "student", wrong, wrong);
  assertEquals((await rejection(asking(world, twice.prompt).login())).code, "INVALID_CREDENTIALS");
  assertEquals(world.logins(), 4);
});

Deno.test("a password is not asked for again where one more wrong one would lock the name", async () => {
  await using world = portless({ session: { clientId: "a-client-of-its-own" } });
  world.sandbox.failures.push({
    at: "token",
    status: 400,
    body: JSON.stringify({
      __type: "NotAuthorizedException",
      message: "Incorrect username or password.",
    }),
  });
  const { prompt, asked } = answering(...new Array(9).fill("Wrong-Password-1"));
  const session = world.another({ prompt });
  for (let round = 0; round < 3; round++) {
    await rejection(session.login({ username: "grace", password: "Wrong-Password-1" }));
  }
  const error = await rejection(session.login({ username: "grace" }));
  assertMatch(error.message, /4 passwords in a row/);
  assertEquals(asked.length, 1);
});

Deno.test("a rejected login says where user name and password came from", async () => {
  await using world = portless({ file: true });
  const { password: _, username: __, ...rest } = world.options;
  Deno.writeTextFileSync(world.envFile, "USERNAME=student\n");
  const { prompt } = answering("Wrong-Password-1", "Wrong-Password-2");
  const typed = await rejection(createSession({ ...rest, prompt }).login({ strategy: "password" }));
  assertMatch(typed.message, /user name.*\.env.*password.*typed/);
});

const CANCELED: [string, LoginOptions, (string | null)[]][] = [
  ["Enter at the first question and at the user name", {}, ["", ""]],
  ["Esc at the portal string", { strategy: "portal" }, [""]],
  ["no answer to the portal string", { strategy: "portal" }, [null]],
  ["Esc at the user name", { strategy: "password" }, [""]],
  ["no answer to the password", { strategy: "password" }, ["student", null]],
];

for (const [what, options, answers] of CANCELED) {
  Deno.test(`${what} ends the login and sends nothing`, async () => {
    await using world = portless();
    const { prompt } = answering(...answers);
    const error = await rejection(asking(world, prompt).login(options));
    assertInstanceOf(error, ConfigError);
    assertEquals(error.code, "PROMPT_UNAVAILABLE");
    assertMatch(error.message, /login\(|USERNAME|PASSWORD/);
    assertEquals(world.sent.length, 0);
  });
}

Deno.test("a user name at the first prompt is not used, and the prompt comes again", async () => {
  await using world = portless();
  const byName = answering("student", "", "student", world.options.password ?? "");
  assertEquals((await asking(world, byName.prompt).login()).username, "student");
  assertEquals(byName.asked.map(({ secret }) => secret), [true, true, false, true]);
  assertMatch(byName.asked[1]?.message ?? "", /not a portal string[^]*Enter for user name/);
  assertEquals(byName.asked.some(({ message }) => message.includes("student\n")), false);
  const pasted = answering("student", await world.sandbox.portalToken());
  const status = await asking(world, pasted.prompt).login({ force: true });
  assertEquals([status.source, pasted.asked.length], ["portal", 2]);
});

Deno.test("a third text that is not a portal string ends the login", async () => {
  await using world = portless();
  const cases = [
    ["https://portal.sandbox.example/#token", /Copy Token/],
    ["a-long-password-without-blanks-1", /press Enter at the first prompt/],
  ] as const;
  for (const [answer, said] of cases) {
    const { prompt, asked } = answering(answer, answer, answer);
    const error = await rejection(asking(world, prompt).login());
    assertEquals([error.code, asked.length], ["INVALID_PORTAL_TOKEN", 3]);
    assertMatch(error.message, said);
    assertEquals(/a-long/.test(error.message), false);
    assertEquals(world.sent.length + world.called.length, 0);
  }
});

Deno.test("the prompt for a portal string shows the hosts that receive the token, and the file with these hosts", async () => {
  await using world = portless({ file: true });
  const { apiBaseUrl: _, ...rest } = world.options;
  const lines = "API_BASE_URL=https://api.example\nAPI_ALLOWED_ORIGINS=https://files.example\n";
  Deno.writeTextFileSync(world.envFile, lines);
  for (const strategy of ["auto", "portal"] as const) {
    const { prompt, asked } = answering(null);
    const { username: __, password: ___, allowedOrigins: ____, ...options } = rest;
    await rejection(createSession({ ...options, prompt }).login({ strategy }));
    assertMatch(
      asked[0]?.message ?? "",
      /^Receives the token: api\.example, files\.example \(host set in .*\.env\)\nPaste the portal's/,
    );
  }
});
