import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  type AuthError,
  createSession,
  type LoginOptions,
  type SessionOptions,
} from "../../mod.ts";
import { type Portless, portless, rejection, signedIn } from "../support/portless.ts";

const WRONG = "Wrong-Password-1";

/** A session without user name and password, whose prompt gives these answers in turn. */
function asking({ options }: Pick<Portless, "options">, ...answers: (string | null)[]) {
  const asked: { message: string; secret: boolean }[] = [];
  const { username: _, password: __, ...rest } = options;
  const session = createSession({
    ...rest,
    prompt: (message, { secret }) => {
      asked.push({ message, secret });
      const answer = answers.shift();
      if (answer === undefined) throw new Error(`asked once too often: ${message}`);
      return answer;
    },
  });
  return { session, asked };
}

Deno.test("login() prompts once, for the portal string, with hidden input", async () => {
  await using world = portless();
  const { session, asked } = asking(world, await world.sandbox.portalToken());
  assertEquals((await session.login()).source, "portal");
  assertEquals(asked.map(({ secret }) => secret), [true], "a notebook does not save hidden input");
  assertMatch(asked[0]?.message ?? "", /Copy Token[^]*press Enter for user name and password/);
  assertEquals(world.sent, []);
});

Deno.test("the password prompt shows the host that receives the password and the .env that sets the host", async () => {
  await using world = portless({ file: true });
  const { authUrl = "", ...options } = world.options;
  Deno.writeTextFileSync(world.envFile, `AUTH_URL=${authUrl}\nUSERNAME=student\u202e\n`);
  const { session, asked } = asking({ options }, WRONG, WRONG);
  const { message } = await rejection(session.login({ strategy: "password" }));
  assertMatch(
    asked[0]?.message ?? "",
    /^Password of student for identity-provider\.sandbox\.example\n\(host set in .*\.env\):$/,
  );
  assertMatch(message, /user name came from .*\.env, the password from the prompt/);
});

Deno.test("the portal prompt shows the hosts that receive the token and the .env that sets them", async () => {
  await using world = portless({ file: true });
  const { apiBaseUrl: _, allowedOrigins: __, ...options } = world.options;
  const lines = "API_BASE_URL=https://api.example\nAPI_ALLOWED_ORIGINS=https://files.example\n";
  Deno.writeTextFileSync(world.envFile, lines);
  for (const strategy of ["auto", "portal"] as const) {
    const { session, asked } = asking({ options }, null);
    await rejection(session.login({ strategy }));
    assertMatch(
      asked[0]?.message ?? "",
      /^Receives the token: api\.example, files\.example \(host set in .*\.env\)\nPaste the portal string/,
    );
  }
});

const REJECTED: [what: string, answers: (right: string) => string[], outcome: string][] = [
  ["a wrong password", (right) => ["", "student", WRONG, "", right], "student"],
  ["a wrong user name", (right) => ["", "studnet", right, " student ", right], "student"],
  ["two wrong passwords", () => ["", "student", WRONG, "", WRONG], "INVALID_CREDENTIALS"],
];
for (const [what, answersWith, expected] of REJECTED) {
  Deno.test(`login() prompts once more for user name and password after ${what}`, async () => {
    await using world = portless();
    const answers = answersWith(world.options.password ?? "");
    const { session, asked } = asking(world, ...answers);
    const outcome = await session.login().then(({ username }) => username, ({ code }) => code);
    assertEquals(outcome, expected);
    assertEquals(asked.map(({ secret }) => secret), [true, false, true, false, true]);
    const messages = asked.map(({ message }) => message);
    assertMatch(messages[3] ?? "", new RegExp(`rejected[^]*Enter for ${answers[1]}:$`));
    assertMatch(messages[4] ?? "", /^Password of student for /);
    assertEquals(world.logins(), 2);
  });
}

const ODD_VALUES: [what: string, options: SessionOptions, said?: RegExp][] = [
  ["quotes around a password", { password: `"${WRONG}"` }, /password begins and ends with quotes/],
  ["a no-break space", { password: `${WRONG}\u00a0` }, /password contains an invisible character/],
  ["a blank at the end", { password: `${WRONG} ` }, /password contains .* a blank at its/],
  ["a blank inside", { password: `Wrong ${WRONG}` }],
  ["quotes around a client secret", { clientSecret: "'s'" }, /APP_CLIENT_SECRET begins and ends/],
];
for (const [what, options, said] of ODD_VALUES) {
  Deno.test(`the error of a refused login ${said ? "mentions" : "does not mention"} an oddity: ${what}`, async () => {
    await using world = portless();
    const { code, fix, message } = await rejection(world.another(options).login()) as AuthError;
    assertEquals(code, options.clientSecret ? "SECRET_HASH_REJECTED" : "INVALID_CREDENTIALS");
    assertMatch(fix, said ?? /^check both, then run login\(\) again$/);
    assert(!message.includes("Wrong"));
  });
}

const CANCELED: [what: string, options: LoginOptions, answers: (string | null)[]][] = [
  ["Enter at the prompts for portal string and user name", {}, ["", ""]],
  ["Enter at the portal prompt", { strategy: "portal" }, [""]],
  ["Esc at the password prompt", { strategy: "password" }, ["student", null]],
];
for (const [what, options, answers] of CANCELED) {
  Deno.test(`${what} cancels login() before anything is sent`, async () => {
    await using world = portless();
    const error = await rejection(asking(world, ...answers).session.login(options));
    assertEquals([error.code, world.sent], ["PROMPT_UNAVAILABLE", []]);
  });
}

Deno.test("after a text that is not a portal string, Enter leads to user name and password", async () => {
  await using world = portless();
  const { session, asked } = asking(
    world,
    "student",
    "",
    " student ",
    world.options.password ?? "",
  );
  assertEquals((await session.login()).source, "password");
  assertEquals(world.sent[0]?.parameters.USERNAME, "student");
  assertEquals(asked.map(({ secret }) => secret), [true, true, false, true]);
  assertMatch(asked[1]?.message ?? "", /not a portal string[^]*Enter for user name and password:$/);
});

Deno.test("a text that is not a portal string does not replace the session", async () => {
  await using world = await signedIn({ file: true });
  const before = Deno.readTextFileSync(world.envFile);
  const text = "eyJackson";
  const ways: [options: LoginOptions, answers: string[], code: string][] = [
    [{ force: true }, [text, text, text], "INVALID_PORTAL_TOKEN"],
    [{ portalToken: text }, [], "INVALID_PORTAL_TOKEN"],
  ];
  for (const [options, answers, code] of ways) {
    const { session } = asking(world, ...answers);
    assertEquals((await rejection(session.login(options))).code, code);
    assertEquals(Deno.readTextFileSync(world.envFile), before);
    assertEquals(session.status().canRefresh, true);
  }
  assertEquals([world.sent.length, world.called], [1, []]);
});
