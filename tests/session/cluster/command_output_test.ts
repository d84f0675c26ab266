import { assert, assertEquals, assertMatch } from "@std/assert";
import { createSession, type SessionOptions } from "../../../mod.ts";
import { inFolder } from "../../support/child_deno.ts";
import { rejection } from "../../support/portless.ts";
import { jwt } from "../../support/answers.ts";
import { printing, scriptCommand } from "../../support/token_command.ts";

const HIDDEN = jwt({ sub: "somebody else" });
const json = (fields: unknown) => printing(JSON.stringify(fields));
const late = "console.log('\\n'.repeat(3e5)); console.log(Deno.args[0]);";
const NO_TOKEN = /printed no token; make the command print only a token/;
const TOO_LONG = /printed more than 256 KiB; make the command print only a token/;
const WITHHELD = /status 1 and printed: \[withheld/;
const CASES: [string, SessionOptions["tokenCommand"], RegExp][] = [
  ["is missing", ["no-such-program-here"], /program no-such-program-here was not found/],
  [
    "fails",
    printing("", 3, "one\ntwo: no session there"),
    /status 3 and printed: two: no session there; run the command/,
  ],
  ["fails and prints a secret", printing("", 1, `rejected ${HIDDEN}`), WITHHELD],
  ["fails and repeats the password", printing("", 1, "wrong: Pass-word-1"), WITHHELD],
  ["prints text before the token", printing(`Welcome to the cluster\n${HIDDEN}`), NO_TOKEN],
  ["prints nothing", printing(""), NO_TOKEN],
  ["prints JSON without access_token", json({ token: HIDDEN }), NO_TOKEN],
  ["prints an invalid expires_at", json({ access_token: HIDDEN, expires_at: 17 }), NO_TOKEN],
  ["prints more than 256 KiB before the token", scriptCommand(late, HIDDEN), TOO_LONG],
  [
    "prints an expired token",
    printing(jwt({ exp: Date.now() / 1_000 - 600, iat: 1 })),
    /token that expired \d+ minutes ago by this computer's clock/,
  ],
  ["has an unclosed quote", "ssh 'node", /a quote is not closed/],
];
for (const [what, tokenCommand = "", message] of CASES) {
  Deno.test(`the error for a token command that ${what} contains no secret`, async () => {
    const password = "Pass-word-1";
    const session = createSession({ apiBaseUrl: "https://api.example", password, tokenCommand });
    const error = await rejection(session.authFetch("/v1/stations"));
    assertMatch(error.message, message);
    assertEquals(
      error.code,
      what === "has an unclosed quote" ? "INVALID_SETTING" : "TOKEN_COMMAND",
    );
    const shown = `${error.stack}${Deno.inspect(error)}`;
    for (const secret of [HIDDEN.slice(0, 12), HIDDEN.slice(-12), "Pass-word"]) {
      assertEquals(shown.includes(secret), false, what);
    }
  });
}

/** Starts a background process with the same output, writes its id into a file, and prints a token. */
const BEHIND = "const { pid } = new Deno.Command(Deno.execPath(), { stdin: 'null', " +
  "args: ['eval', 'setInterval(() => {}, 1e6)'] }).spawn();" +
  "Deno.writeTextFileSync(Deno.args[0], `${pid}`); console.log('a'.repeat(30)); Deno.exit();";

Deno.test("a session does not wait for a background process of its token command", () =>
  inFolder(async (folder) => {
    const tokenCommand = scriptCommand(BEHIND, `${folder}/pid`);
    // If the session waited for the background process, it would wait for these ten minutes.
    const session = createSession({ tokenCommand, timeoutMs: 600_000 });
    const token = await session.accessToken();
    Deno.kill(Number(await Deno.readTextFile(`${folder}/pid`)), "SIGKILL");
    assertEquals(token, "a".repeat(30));
  }));

const LINES: [string, shown: boolean][] = [
  ["password=Gehe1m", false],
  ['{"password": "Gehe1m"}', false],
  ["+ curl -u ada:Gehe1m https://host/x", false],
  ["https://ada:Gehe1m@host/x not found", false],
  ["authorization: Basic YWRhOkdlaGUxbQ==", false],
  ["ada@host: Permission denied (publickey,password).", true],
  ["ssh: Could not resolve hostname login-node: Name or service not known", true],
  ["platform-auth: There is no session; run platform-auth login first", true],
];
for (const [line, shown] of LINES) {
  Deno.test(`the error of a token command ${shown ? "shows" : "withholds"} the last line "${line.slice(0, 24)}…"`, async () => {
    const session = createSession({ tokenCommand: printing("", 1, line) });
    const { message } = await rejection(session.accessToken());
    const printed = shown ? line : "[withheld: it may contain a secret]";
    assert(message.includes(` ended with status 1 and printed: ${printed}; run`), message);
  });
}
