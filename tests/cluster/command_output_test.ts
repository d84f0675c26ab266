import { assertEquals, assertMatch } from "@std/assert";
import { createSession, type SessionOptions } from "../../mod.ts";
import { inFolder } from "../support/child_deno.ts";
import { rejection } from "../support/portless.ts";
import { jwt } from "../support/answers.ts";
import { printing, scriptCommand } from "../support/token_command.ts";

const HIDDEN = jwt({ sub: "somebody else" });
const cases: [string, Partial<SessionOptions>, string, RegExp][] = [
  [
    "is missing",
    { tokenCommand: ["no-such-program-here"] },
    ...["TOKEN_COMMAND", /program no-such-program-here was not found/] as const,
  ],
  [
    "fails",
    { tokenCommand: printing("", 3, "one\ntwo: no session there") },
    ...["TOKEN_COMMAND", /status 3 and printed: two: no session there; run the command/] as const,
  ],
  [
    "fails and says a secret",
    { tokenCommand: printing("", 1, `rejected ${HIDDEN}`) },
    ...["TOKEN_COMMAND", /status 1 and printed: \[withheld/] as const,
  ],
  [
    "fails and repeats the password",
    { tokenCommand: printing("", 1, "wrong: Pass-word-1"), password: "Pass-word-1" },
    ...["TOKEN_COMMAND", /status 1 and printed: \[withheld/] as const,
  ],
  [
    "prints noise",
    { tokenCommand: printing(`Welcome to the cluster\n${HIDDEN}`) },
    ...["TOKEN_COMMAND", /printed 2 lines that are not JSON; let it print a token and/] as const,
  ],
  [
    "prints a word",
    { tokenCommand: printing("ok") },
    "TOKEN_COMMAND",
    /something that is not a token/,
  ],
  ["prints nothing", { tokenCommand: printing("") }, "TOKEN_COMMAND", /printed nothing;/],
  [
    "prints JSON of others",
    { tokenCommand: printing(JSON.stringify({ token: HIDDEN })) },
    ...["TOKEN_COMMAND", /JSON without a token in access_token/] as const,
  ],
  [
    "prints JSON with an odd time",
    { tokenCommand: printing(JSON.stringify({ access_token: HIDDEN, expires_at: 17 })) },
    ...["TOKEN_COMMAND", /expires_at is not a time such as/] as const,
  ],
  [
    "prints broken JSON",
    { tokenCommand: printing(`{"access_token":"${HIDDEN}"`) },
    ...["TOKEN_COMMAND", /JSON that is broken/] as const,
  ],
  [
    "prints JSON with an endless time",
    { tokenCommand: printing(JSON.stringify({ access_token: HIDDEN, expires_in: 1e300 })) },
    ...["TOKEN_COMMAND", /expires_in is not a number of seconds/] as const,
  ],
  [
    "prints two tokens",
    { tokenCommand: printing(`${HIDDEN} ${HIDDEN}`) },
    ...["TOKEN_COMMAND", /something that is not a token/] as const,
  ],
  [
    "prints an array",
    { tokenCommand: printing(JSON.stringify([HIDDEN])) },
    ...["TOKEN_COMMAND", /something that is not a token/] as const,
  ],
  [
    "prints one word without an end",
    {
      tokenCommand: scriptCommand(
        "for (;;) await Deno.stdout.write(new Uint8Array(9e4).fill(97));",
      ),
    },
    ...["TOKEN_COMMAND", /printed more than 256 KiB; let it print a token/] as const,
  ],
  [
    "prints much, and then a token",
    {
      tokenCommand: scriptCommand(
        "console.log('\\n'.repeat(3e5)); console.log(Deno.args[0]);",
        HIDDEN,
      ),
    },
    ...["TOKEN_COMMAND", /printed more than 256 KiB; let it print a token/] as const,
  ],
  [
    "prints an ended token",
    { tokenCommand: printing(jwt({ exp: Date.now() / 1_000 - 600, iat: 1 })) },
    ...["TOKEN_COMMAND", /token that expired 10 minutes ago by this computer's clock/] as const,
  ],
  [
    "has an open quote",
    { tokenCommand: "ssh 'node" },
    ...["INVALID_SETTING", /a quote is not closed/] as const,
  ],
];
for (const [what, options, code, message] of cases) {
  Deno.test(`a command that ${what} gives ${code}, and nothing that it printed`, async () => {
    const session = createSession({ apiBaseUrl: "https://api.example", ...options });
    const error = await rejection(session.authFetch("/v1/stations"));
    assertEquals(error.code, code, error.message);
    assertMatch(error.message, message);
    const shown = `${error.stack}${Deno.inspect(error)}`;
    for (const secret of [HIDDEN.slice(0, 12), HIDDEN.slice(-12), "Pass-word"]) {
      assertEquals(shown.includes(secret), false, what);
    }
  });
}

/** Leaves a process running that has the same output, and tells where to find it. */
const BEHIND = "const { pid } = new Deno.Command(Deno.execPath(), { stdin: 'null', " +
  "args: ['eval', 'setInterval(() => {}, 1e6)'] }).spawn();" +
  "Deno.writeTextFileSync(Deno.args[0], `${pid}`);";
for (
  const [what, ending, outcome] of [
    ["prints a token", "console.log('a'.repeat(30)); Deno.exit();", /^a{30}$/],
    [
      "fails",
      "console.error('no session there'); Deno.exit(4);",
      /status 4 and printed: no session there;/,
    ],
  ] as const
) {
  Deno.test(`a command that ${what} has ended, though what it left running keeps its output open`, () =>
    inFolder(async (folder) => {
      const command = scriptCommand(BEHIND + ending, `${folder}/pid`);
      // It would take all of that time.
      const session = createSession({ tokenCommand: command, timeoutMs: 600_000 });
      const told = await session.accessToken().catch(({ message }) => message);
      Deno.kill(Number(await Deno.readTextFile(`${folder}/pid`)), "SIGKILL");
      assertMatch(told, outcome);
    }));
}

for (
  const line of [
    "password=Gehe1m",
    "Password for ada: Gehe1m",
    '{"password": "Gehe1m"}',
    "DB_PASSWORD: Gehe1m",
    "client_secret: Gehe1mabcdefgh12",
    "+ curl --password Gehe1m https://host/x",
    "+ curl -u ada:Gehe1m https://host/x",
    "https://ada:Gehe1m@host/x not found",
    "authorization: Basic YWRhOkdlaGUxbQ==",
    "token=Gehe1m",
  ]
) {
  Deno.test(`a last line that may hold a secret is withheld: ${line.slice(0, 24)}`, async () => {
    const session = createSession({ tokenCommand: printing("", 1, line) });
    const { message } = await rejection(session.accessToken());
    assertMatch(
      message,
      / ended with status 1 and printed: \[withheld: it may contain a secret\]; run/,
    );
  });
}

for (
  const line of [
    "ada@host: Permission denied (publickey,password).",
    "Host key verification failed.",
    "ssh: Could not resolve hostname login-node: Name or service not known",
    "kinit: Password incorrect while getting initial credentials",
    "platform-auth: There is no session; run platform-auth login first",
    "Cannot get a token: the provider does not answer",
    "sudo: a password is required",
  ]
) {
  Deno.test(`a last line that only names a password or a token is shown: ${line}`, async () => {
    const session = createSession({ tokenCommand: printing("", 1, line) });
    const { message } = await rejection(session.accessToken());
    assertEquals(message.includes(` and printed: ${line}; run`), true, message);
  });
}
