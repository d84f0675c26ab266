import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type Ask, type AuthError, createSession, type LoginOptions } from "../../mod.ts";
import { portless, rejection, signedIn } from "../support/portless.ts";

/** Makes a prompt that records its calls, gives these answers in turn, and throws after the last. */
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

/** A session that can prompt, with all settings except user name and password. */
function asking(world: ReturnType<typeof portless>, prompt: Ask) {
  const { username: _, password: __, ...rest } = world.options;
  return createSession({ ...rest, prompt });
}

Deno.test("login() prompts once, for the portal string, with hidden input", async () => {
  await using world = portless();
  const { prompt, asked } = answering(await world.sandbox.portalToken());
  assertEquals((await asking(world, prompt).login()).source, "portal");
  assertEquals(asked.map((it) => it.secret), [true], "a notebook does not save hidden input");
  assertMatch(asked[0]?.message ?? "", /Copy Token[^]*press Enter for user name and password/);
  assertEquals(world.sent.length, 0);
});

Deno.test("the password prompt shows the host that receives the password and the .env that sets the host", async () => {
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

Deno.test("login() prompts for the password once more after a rejected one", async () => {
  await using world = portless();
  const wrong = "Not-The-Password-1";
  const second = answering("", "student", wrong, "", world.options.password ?? "");
  assertEquals((await asking(world, second.prompt).login()).state, "valid");
  assertMatch(second.asked[3]?.message ?? "", /rejected[^]*Enter for student:$/);
  const twice = answering("", "student", wrong, "", wrong);
  assertEquals((await rejection(asking(world, twice.prompt).login())).code, "INVALID_CREDENTIALS");
  assertEquals(world.logins(), 4);
});

Deno.test("after a rejection, login() prompts again for the user name if it was typed", async () => {
  await using world = portless();
  const password = world.options.password ?? "";
  const { prompt, asked } = answering("", "studnet", password, " student ", password);
  const status = await asking(world, prompt).login();
  assertEquals([status.username, world.logins()], ["student", 2]);
  assertEquals(asked.map(({ secret }) => secret), [true, false, true, false, true]);
  assertMatch(asked[4]?.message ?? "", /^Password of student for /);
});

Deno.test("the error of a rejected login says where user name and password came from", async () => {
  await using world = portless({ file: true });
  const { password: _, username: __, ...rest } = world.options;
  Deno.writeTextFileSync(world.envFile, "USERNAME=student\n");
  const { prompt } = answering("Wrong-Password-1", "Wrong-Password-2");
  const typed = await rejection(createSession({ ...rest, prompt }).login({ strategy: "password" }));
  assertMatch(typed.message, /user name came from .*\.env, the password from the prompt/);
});

const oddValues: [what: string, value: string, said: RegExp | undefined][] = [
  ["quotes around it", '"Wrong-Password-1"', /; the password begins and ends with quotes, which/],
  [
    "typographic quotes around it",
    "“Wrong-Password-1”",
    /; the password begins and ends with quotes, which/,
  ],
  [
    "a zero-width space",
    "Wrong\u200b-Password-1",
    /; the password contains an invisible char/,
  ],
  ["a no-break space", "Wrong-Password-1\u00a0", /; the password contains an invisible char/],
  ["a line break inside", "Wrong-\nPassword-1", /; the password contains an invisible char/],
  ["a blank at its end", "Wrong-Password-1 ", /; the password contains .* a blank at its/],
  ["a blank inside", "Wrong Password-1", undefined],
  ["a single quote mark", 'Wrong-Password-1"', undefined],
];
for (const [what, value, said] of oddValues) {
  const says = said ? "mentions" : "does not mention";
  Deno.test(`the error of a refused password ${says} ${what}`, async () => {
    await using world = portless();
    // Failures are counted for each name, and after four there is no second prompt.
    const username = crypto.randomUUID();
    const { prompt, asked } = answering("", username, value, "", value);
    const typed = await rejection(asking(world, prompt).login()) as AuthError;
    const given = await rejection(world.session.login({ username, password: value })) as AuthError;
    for (const error of [typed, given]) {
      assertEquals(error.code, "INVALID_CREDENTIALS");
      assertMatch(error.fix, said ?? /^check both, then run login\(\) again$/);
      assertEquals(error.message.includes("Wrong"), false);
    }
    assertMatch(asked[3]?.message ?? "", said ?? /^User name or password rejected\.\n/);
  });
}

Deno.test("the error of a rejected user name or client secret mentions quotes or an invisible character in the value", async () => {
  await using world = portless();
  const named = world.another({ username: "stu\u200bdent" });
  const name = await rejection(named.login()) as AuthError;
  assertEquals(name.code, "INVALID_CREDENTIALS");
  assertMatch(name.fix, /; the user name contains an invisible character/);
  const clientSecret = `'${world.options.clientSecret}'`;
  const secret = await rejection(world.another({ clientSecret }).login()) as AuthError;
  assertEquals(secret.code, "SECRET_HASH_REJECTED");
  assertMatch(secret.fix, /; APP_CLIENT_SECRET begins and ends with quotes/);
});

const CANCELED: [string, LoginOptions, (string | null)[]][] = [
  ["Enter at the prompts for portal string and user name", {}, ["", ""]],
  ["Enter at the portal prompt", { strategy: "portal" }, [""]],
  ["Esc at the portal prompt", { strategy: "portal" }, [null]],
  ["Esc at the password prompt", { strategy: "password" }, ["student", null]],
];

for (const [what, options, answers] of CANCELED) {
  Deno.test(`${what} cancels login() before anything is sent`, async () => {
    await using world = portless();
    const { prompt } = answering(...answers);
    const error = await rejection(asking(world, prompt).login(options));
    assertEquals([error.code, world.sent.length], ["PROMPT_UNAVAILABLE", 0]);
  });
}

Deno.test("after a text that is not a portal string, Enter leads to user name and password", async () => {
  await using world = portless();
  const byName = answering("student", "", " student ", world.options.password ?? "");
  assertEquals((await asking(world, byName.prompt).login()).source, "password");
  assertEquals(world.sent[0]?.parameters.USERNAME, "student");
  assertEquals(byName.asked.map(({ secret }) => secret), [true, true, false, true]);
  assertMatch(byName.asked[1]?.message ?? "", /not a portal string[^]*Enter for user name/);
});

const typedByMistake = ["ashleyjackson", "hello", "bearer nonsense", "eyJackson"];
for (const text of typedByMistake) {
  Deno.test(`"${text}" at a prompt for the portal string does not replace the session`, async () => {
    await using world = await signedIn({ file: true });
    const before = Deno.readTextFileSync(world.envFile);
    const { username: _, password: __, ...rest } = world.options;
    const ways: [LoginOptions, (string | null)[], string][] = [
      [{ force: true }, [text, text, text], "INVALID_PORTAL_TOKEN"],
      [{ force: true }, [text, "", ""], "PROMPT_UNAVAILABLE"],
      [{ strategy: "portal" }, [text], "INVALID_PORTAL_TOKEN"],
      [{ portalToken: text }, [], "INVALID_PORTAL_TOKEN"],
    ];
    for (const [options, answers, code] of ways) {
      const { prompt } = answering(...answers);
      const session = createSession({ ...rest, prompt });
      assertEquals((await rejection(session.login(options))).code, code);
      assertEquals(Deno.readTextFileSync(world.envFile), before);
      assertEquals(session.status().canRefresh, true);
    }
    assertEquals([world.sent.length, world.called.length], [1, 0]);
  });
}

Deno.test("a third text that is not a portal string ends the login with the reason", async () => {
  await using world = portless();
  const cases = [
    ["https://portal.sandbox.example/#token", "this is not a portal string"],
    ["a-long-password-without-blanks-1", "this is not a portal string"],
    ["bearer of-bad-news", "a token of 11 characters is too short"],
    [(await world.sandbox.portalToken()).slice(0, 100), "this is only the beginning of a token"],
  ] as const;
  for (const [answer, said] of cases) {
    const { prompt, asked } = answering(answer, answer, answer);
    const error = await rejection(asking(world, prompt).login());
    assertEquals([error.code, asked.length], ["INVALID_PORTAL_TOKEN", 3]);
    assertStringIncludes(error.message, said);
    for (const { message } of asked.slice(1)) {
      assertStringIncludes(message, said);
      assertMatch(message, /press Enter for user name and password:$/);
    }
    assertEquals(error.message.includes(answer.slice(-15)), false);
    assertEquals(world.sent.length + world.called.length, 0);
  }
});

Deno.test("the portal prompt shows the hosts that receive the token and the .env that sets them", async () => {
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
      /^Receives the token: api\.example, files\.example \(host set in .*\.env\)\nPaste the portal string/,
    );
  }
});
