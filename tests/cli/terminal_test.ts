import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { repeatedPart } from "../support/canaries.ts";
import { childEnvironment, type CliWorld, inCliWorld } from "../support/cli_world.ts";
import { writeEnv } from "../support/sandbox_env.ts";
import { subject } from "../support/needs.ts";
import {
  type Answer,
  inTerminal,
  NO_INTERRUPTS,
  ON_WINDOWS,
  type Seen,
  terminalTest,
} from "../support/terminal.ts";

const FIRST = "press Enter for user name and password:";
const PORTAL = '"Copy Token" string:';
const NAME = "User name:";
const PASSWORD = "(host set in .env):";
const AGAIN = "User name or password rejected.";
const ESCAPE = "\u001b[";

interface Desk extends CliWorld {
  readonly password: string;
  readonly portalString: string;
  /** Types at a command; further variables come from `env`. */
  type(
    args: string[],
    dialog: [awaited: string, answer: Answer][],
    env?: Record<string, string>,
    flags?: string[],
    columns?: number,
  ): Promise<Seen>;
}

/** A command line in a pseudo-terminal, whose settings lack user name and password. */
function atDesk(use: (desk: Desk) => Promise<void>): Promise<void> {
  return inCliWorld(async (world) => {
    const { USERNAME: _, PASSWORD: __, ...others } = world.variables;
    await writeEnv(world.folder, others);
    const password = ` ${crypto.randomUUID()} `;
    world.sandbox.addUser({ username: "ada", password });
    const type: Desk["type"] = (
      args,
      dialog,
      env = {},
      flags = world.flagsOf(args[0] ?? ""),
      columns = 0,
    ) =>
      inTerminal(world.commandLine(args, flags), dialog, {
        cwd: world.folder,
        columns,
        env: { ...childEnvironment({ NO_COLOR: "", ...env }), USERNAME: "", PASSWORD: "" },
      });
    await use({ ...world, password, portalString: await world.sandbox.portalToken(), type });
  });
}

function deskTest(name: string, use: (desk: Desk) => Promise<void>): void {
  terminalTest(name, () => atDesk(use));
}

function assertHides({ screen }: Seen, { password, portalString }: Desk): void {
  const secrets = [password.trim(), portalString.replace(/^bearer eyJ[\w-]+\./, "")];
  assertEquals(repeatedPart(screen, secrets), undefined);
}

deskTest("in a terminal, fetch indents JSON and ends with a line break", async (desk) => {
  await desk.run(["login", "--env-file", desk.envFile], {
    env: { USERNAME: "ada", PASSWORD: desk.password },
  });
  const { screen } = await desk.type(["fetch", "/v1/whoami"], []);
  assertMatch(screen, /^\{\r\n {2}"username": "ada",[^]*\r\n\}\r\n$/);
  const piped = await desk.run(["fetch", "/v1/whoami"]);
  assertMatch(piped.stdout, /^\{"username":"ada".*\}$/);
});

deskTest("login asks for user name and password, the latter masked", async (desk) => {
  const seen = await desk.type(["login"], [
    [FIRST, "\r"],
    [NAME, "ada\r"],
    // A wrong letter can be corrected.
    [PASSWORD, `${desk.password}é\x7f\r`],
  ]);
  assertMatch(seen.screen, /Password of ada for 127\.0\.0\.1:\d+\r\n\(host set in \.env\): /);
  assertStringIncludes(seen.screen, "Signed in as ada");
  assertHides(seen, desk);
  assert(seen.sane);
  assertMatch(await Deno.readTextFile(desk.envFile), /^ACCESS_TOKEN=eyJ/m);
});

deskTest("login --portal and --username prompt for what is left", async (desk) => {
  // Pasted in several lines, between the marks of a terminal. A console of Windows sends no marks.
  const lines = desk.portalString.replace(/.{60}/g, "$&\n");
  const pasted = ON_WINDOWS ? `${desk.portalString}\r` : `\u001b[200~${lines}\u001b[201~\r`;
  const portal = await desk.type(["login", "--portal"], [[PORTAL, pasted]]);
  const named = await desk.type(["login", "--username", "ada"], [[PASSWORD, `${desk.password}\r`]]);
  assertStringIncludes(portal.screen, "Signed in as student");
  assertStringIncludes(named.screen, "Signed in as ada");
  for (const seen of [portal, named]) {
    assertHides(seen, desk);
    assertEquals([seen.sane, seen.left], [true, 0]);
  }
});

deskTest("a password that arrives broken is not sent", async (desk) => {
  // The byte of a console that sends ü as one, as those of Windows do.
  const dialog: [string, string][] = [[PASSWORD, ON_WINDOWS ? "grün\r" : "gr\udcfcn\r"]];
  const seen = await desk.type(["login", "--username", "ada"], dialog);
  assertMatch(seen.screen.replace(/\s+/g, " "), /the terminal does not send UTF-8.*chcp 65001/);
  assertEquals([seen.sane, desk.sandbox.requests.length], [true, 0]);
});

const WRONG = crypto.randomUUID();

subject(NO_INTERRUPTS, "Ctrl-C and signals at a question, and questions of Deno's", (test) => {
  for (
    const [what, sent, before, awaited] of [
      ["the portal string", 0, [], FIRST],
      [
        "the second password",
        1,
        [[FIRST, "\r"], [NAME, "ada\r"], [PASSWORD, `${WRONG}\r`]],
        AGAIN,
      ],
    ] as [string, number, [string, string][], string][]
  ) {
    test(`Ctrl-C and Ctrl-D at ${what} end login quietly with 130, and the .env is unchanged`, () =>
      atDesk(async (desk) => {
        const text = await Deno.readTextFile(desk.envFile);
        for (const [at, key] of ["\x03", "\x04"].entries()) {
          const seen = await desk.type(["login"], [...before, [awaited, key]]);
          assertEquals([seen.code, seen.signal, seen.left, seen.sane], [130, 0, 0, true]);
          assertEquals(seen.screen.includes("platform-auth:"), false, seen.screen);
          assertEquals(await Deno.readTextFile(desk.envFile), text);
          assertEquals([...Deno.readDirSync(desk.folder)].map(({ name }) => name), [".env"]);
          assertEquals(desk.sandbox.requests.length, sent * (at + 1));
        }
      }));
  }

  for (const [signal, code] of [["SIGHUP", 129], ["SIGTERM", 143]] as const) {
    test(`${signal} from outside at a masked prompt leaves the terminal sane`, () =>
      atDesk(async (desk) => {
        const login = ["login", "--username", "ada"];
        const seen = await desk.type(login, [[PASSWORD, "x"], ["*", { signal }]]);
        assertEquals([seen.left, seen.sane, seen.signal, seen.code], [0, true, 0, code]);
        assertEquals(desk.sandbox.requests.length, 0);
      }));
  }
});

deskTest("the marks are colored on a terminal, and plain with NO_COLOR", async (desk) => {
  const login = ["login", "--username", "ada", "--stdin"];
  assertEquals((await desk.run(login, { stdin: desk.password })).code, 0);
  const colored = await desk.type(["doctor"], []);
  assertStringIncludes(colored.screen, `${ESCAPE}32m✓${ESCAPE}0m`);
  const plain = await desk.type(["doctor"], [], { NO_COLOR: "1" });
  assertMatch(plain.screen, /^✓ /m);
  assertEquals(plain.screen.includes(ESCAPE), false);
  const json = await desk.type(["status", "--json"], []);
  assertEquals(JSON.parse(json.screen).state, "valid");
  const token = await desk.type(["token"], []);
  assertMatch(token.screen, /^eyJ[\w.-]+\r\n$/);
});

deskTest("a terminal's lines are broken at words, and a pipe gets them whole", async (desk) => {
  const address = `https://${"long-".repeat(20)}name.example.com`;
  const commands = [["fetch", `${address}/v1`], ["doctor"], ["status"], ["fetch", "-o", "x"]];
  commands.push(["sandbox", "--port", "1000000"]);
  for (const command of commands) {
    const { screen } = await desk.type(command, [], { NO_COLOR: "1" }, undefined, 60);
    const lines = screen.replaceAll("\r", "").trimEnd().split("\n");
    const isUnbreakable = (line: string) => line.includes(address) || line.includes("--allow-");
    assertEquals(lines.filter((line) => line.length > 60 && !isUnbreakable(line)), []);
  }
  const [toFetch = []] = commands;
  const { screen } = await desk.type(toFetch, [], {}, undefined, 60);
  const { stderr } = await desk.run(toFetch);
  assertMatch(stderr, /^platform-auth: [^\n]+\n$/);
  // A console of Windows breaks addresses, too.
  if (!ON_WINDOWS) assertEquals(screen.split(/\s+/), stderr.split(/\s+/));
});

/** The screen of `fetch --output zeros` with this response of the API. */
async function seenOfFetch(
  desk: Desk,
  answer: () => Response,
  dialog: [string, Answer][] = [],
  { columns = 0, ...variables }: { TERM?: string; columns?: number } = {},
): Promise<Seen> {
  const login = ["login", "--username", "ada", "--stdin"];
  assertEquals((await desk.run(login, { stdin: desk.password })).code, 0);
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  await using server = Deno.serve(options, answer);
  const host = `127.0.0.1:${server.addr.port}`;
  const env = { API_ALLOWED_ORIGINS: `http://${host}`, ...variables };
  const flags = desk.flagsOf("fetch").map((flag) =>
    flag.startsWith("--allow-net=") ? `${flag},${host}` : flag
  );
  return await desk.type(["fetch", `http://${host}`, "-o", "zeros"], dialog, env, flags, columns);
}

subject(NO_INTERRUPTS, "Ctrl-C while fetch saves a file", (test) => {
  test("Ctrl-C during a download ends its line and says how to resume", () =>
    atDesk(async (desk) => {
      const endless = () =>
        new Response(
          new ReadableStream({ start: (body) => body.enqueue(new Uint8Array(2_000_000)) }),
          { headers: { etag: '"1"', "content-length": "3000000" } },
        );
      const seen = await seenOfFetch(desk, endless, [["of 3.0 MB", "\x03"]]);
      assertEquals([seen.code, seen.left, seen.sane], [130, 0, true]);
      const [last = ""] = seen.screen.split(`\r${ESCAPE}K`).slice(-1);
      assertEquals(last, "platform-auth: stopped; run the same command again to resume\r\n");
      const parts = [...Deno.readDirSync(desk.folder)].filter(({ name }) => /part$/.test(name));
      assertEquals(parts.length, 1);
    }));
});

deskTest("a terminal without abilities gets no escape sequences", async (desk) => {
  const TERM = "dumb";
  const big = () => new Response(new Uint8Array(3_000_000));
  const seen = [
    await seenOfFetch(desk, big, [], { TERM }),
    await desk.type(["status"], [], { TERM }),
  ];
  // A console of Windows draws a prompt with different escape sequences.
  if (!ON_WINDOWS) seen.push(await desk.type(["login", "--force"], [[FIRST, "\x03"]], { TERM }));
  for (const { screen } of seen) assertEquals(screen.includes(ESCAPE), false, screen);
});

deskTest("fetch --output shows one line of progress and clears it", async (desk) => {
  const { screen, sane } = await seenOfFetch(desk, () => new Response(new Uint8Array(3_000_000)));
  if (ON_WINDOWS) {
    // A console draws the line in its own way, and at last that it is gone.
    assertMatch(screen, /([█░]{20} \d+ % .* of 3\.0 MB|0 bytes) {2}[\d.]+ \w+\/s/);
    assertStringIncludes(screen, `${ESCAPE}Kplatform-auth: saved zeros, `);
  } else {
    const [before, ...shown] = screen.split(`\r${ESCAPE}K`);
    assertEquals([before, shown.pop()], ["", "platform-auth: saved zeros, 3.0 MB\r\n"]);
    assert(shown.length > 0);
    for (const line of shown) {
      assertMatch(line, /^([█░]{20} \d+ % .* of 3\.0 MB|0 bytes) {2}[\d.]+ \w+\/s/);
    }
  }
  assert(sane);
  assertEquals((await Deno.stat(`${desk.folder}/zeros`)).size, 3_000_000);
});
