/** What a user sees and types in a terminal. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { createSession } from "../../mod.ts";
import { repeatedPart } from "../support/canaries.ts";
import {
  childEnvironment,
  type CliWorld,
  type CommandOptions,
  inCliWorld,
} from "../support/cli_world.ts";
import { writeEnv } from "../support/sandbox_env.ts";
import { namesIn } from "../support/child_deno.ts";
import { subject } from "../support/needs.ts";
import {
  type Answer,
  assertEnded,
  inTerminal,
  NO_INTERRUPTS,
  ON_WINDOWS,
  type Seen,
  terminalTest,
} from "../support/terminal.ts";
import { serveLocal } from "../support/local_server.ts";

const FIRST = "press Enter for user name and password:";
const PORTAL = 'string from "Copy Token":';
const NAME = "User name:";
const PASSWORD = "(host set in .env):";
const AGAIN = "Enter for ada:";
const ESCAPE = "\u001b[";

interface Desk extends CliWorld {
  readonly password: string;
  readonly portalString: string;
  /** Runs a command and types the answers to its prompts. */
  type(
    args: string[],
    dialog: [awaited: string, answer: Answer][],
    options?: CommandOptions,
  ): Promise<Seen>;
}

/** Uses a pseudo-terminal in a folder whose settings lack user name and password. */
function atDesk(use: (desk: Desk) => Promise<void>): Promise<void> {
  return inCliWorld(async (world) => {
    const { USERNAME: _, PASSWORD: __, ...others } = world.variables;
    await writeEnv(world.folder, others);
    const password = ` ${crypto.randomUUID()} `;
    world.sandbox.addUser({ username: "ada", password });
    const type: Desk["type"] = (args, dialog, { env, flags } = {}) =>
      inTerminal(world.commandLine(args, flags), dialog, {
        cwd: world.folder,
        env: { ...childEnvironment({ NO_COLOR: "", ...env }), USERNAME: "", PASSWORD: "" },
      });
    const { sandbox, envFile } = world;
    const session = createSession({ ...sandbox.settings, username: "ada", password, envFile });
    const signIn = async () => void await session.login();
    await use({
      ...world,
      signIn,
      password,
      portalString: await world.sandbox.portalToken(),
      type,
    });
  });
}

function deskTest(name: string, use: (desk: Desk) => Promise<void>): void {
  terminalTest(name, () => atDesk(use));
}

function assertHides({ screen }: Seen, { password, portalString }: Desk): void {
  const secrets = [password.trim(), portalString.replace(/^bearer eyJ[\w-]+\./, "")];
  assertEquals(repeatedPart(screen, secrets), undefined);
}

deskTest("fetch indents JSON without changing it, and prints no binary data", async (desk) => {
  await desk.signIn();
  const type = { "content-type": "application/json" };
  await using server = serveLocal(({ url }) =>
    url.endsWith("json")
      ? new Response('[9007199254740993,{"a":1e400}]', { headers: type })
      : new Response("PAR1\0\x1b[2J")
  );
  const fetch = (path: string) =>
    desk.type(["fetch", `${server.origin}/${path}`], [], desk.reaching(server.origin));
  const { screen } = await fetch("json");
  assertEquals(screen, '[\r\n  9007199254740993,\r\n  {\r\n    "a": 1e400\r\n  }\r\n]\r\n');
  const binary = await fetch("file");
  assertEquals([binary.code, binary.screen.includes("PAR1")], [1, false]);
  assertMatch(binary.screen.replace(/\s+/g, " "), /binary data; save it with -o .*explain FILE\)/);
});

deskTest(
  "login prompts for the user name, and shows only stars for the password",
  async (desk) => {
    // F1 in two ways, Alt+b, Alt+Backspace and an arrow add nothing.
    const keys = ON_WINDOWS ? "" : "\u001bOP\u001b[[A\u001bb\u001b\x7f\u001b[1;5D";
    const seen = await desk.type(["login"], [
      [FIRST, "\r"],
      [NAME, "ada\r"],
      // In pieces, each of which adds stars. Backspace removes the last letter.
      [PASSWORD, " "],
      ["*", `${keys}${desk.password.slice(1)}é\x7f${ON_WINDOWS ? "" : "\u001bO"}`],
      ["**", "\r"],
    ]);
    assertMatch(seen.screen, /Password of ada for 127\.0\.0\.1:\d+\r\n\(host set in \.env\): /);
    assertEquals(seen.screen.replace(/[^*]/g, "").length, 24, "24 stars at most");
    assertStringIncludes(seen.screen, "Signed in as ada");
    assertHides(seen, desk);
    assertEnded(seen);
    assertMatch(await Deno.readTextFile(desk.envFile), /^ACCESS_TOKEN=eyJ/m);
  },
);

deskTest("login --portal and login --username prompt only for the missing secret", async (desk) => {
  // A paste of several lines. A terminal sends marks before and after a paste; Windows does not.
  const lines = desk.portalString.replace(/.{60}/g, "$&\n");
  const pasted = ON_WINDOWS ? `${desk.portalString}\r` : `\u001b[200~${lines}\u001b[201~\r`;
  const portal = await desk.type(["login", "--portal"], [[PORTAL, pasted]]);
  const password = ON_WINDOWS
    ? `${desk.password}\r`
    : `\u001b[200~${desk.password}\r\n\u001b[201~\r`;
  const named = await desk.type(["login", "--username", "ada"], [[PASSWORD, password]]);
  assertStringIncludes(portal.screen, "Signed in as student");
  assertStringIncludes(named.screen, "Signed in as ada");
  for (const seen of [portal, named]) {
    assertHides(seen, desk);
    assertEnded(seen);
  }
});

deskTest("login does not send a password in an encoding other than UTF-8", async (desk) => {
  // The single byte that a Windows console sends for ü.
  const dialog: [string, string][] = [[PASSWORD, ON_WINDOWS ? "grün\r" : "gr\udcfcn\r"]];
  const seen = await desk.type(["login", "--username", "ada"], dialog);
  assertMatch(seen.screen.replace(/\s+/g, " "), /the terminal does not send UTF-8.*chcp 65001/);
  assertEquals([seen.sane, desk.sandbox.requests.length], [true, 0]);
});

const WRONG = crypto.randomUUID();

/** Where the user stops a login: the key, the prompt, the answers before it, and the requests. */
const stops: [key: string, awaited: string, before: [string, string][], sent: number][] = [
  ["\x03", FIRST, [], 0],
  ["\x04", AGAIN, [[FIRST, "\r"], [NAME, "ada\r"], [PASSWORD, `${WRONG}\r`]], 1],
];

subject(NO_INTERRUPTS, "Ctrl-C and signals at a prompt", (test) => {
  for (const [key, awaited, before, sent] of stops) {
    const name = key === "\x03" ? "Ctrl-C" : "Ctrl-D";
    test(`${name} at a prompt ends login quietly with exit status 130; the .env is unchanged`, () =>
      atDesk(async (desk) => {
        const text = await Deno.readTextFile(desk.envFile);
        const seen = await desk.type(["login"], [...before, [awaited, key]]);
        assertEnded(seen, 130);
        assertEquals(seen.screen.includes("platform-auth:"), false, seen.screen);
        assertEquals(await Deno.readTextFile(desk.envFile), text);
        assertEquals(namesIn(desk.folder), [".env"]);
        assertEquals(desk.sandbox.requests.length, sent);
      }));
  }

  test("SIGTERM at a masked prompt leaves the terminal usable", () =>
    atDesk(async (desk) => {
      const dialog: [string, Answer][] = [[PASSWORD, "x"], ["*", { signal: "SIGTERM" }]];
      assertEnded(await desk.type(["login", "--username", "ada"], dialog), 143);
      assertEquals(desk.sandbox.requests.length, 0);
    }));

  test("Ctrl-C during a download clears the progress line and says how to resume", () =>
    atDesk(async (desk) => {
      const endless = () =>
        new Response(
          new ReadableStream({ start: (body) => body.enqueue(new Uint8Array(2_000_000)) }),
          { headers: { etag: '"1"', "content-length": "3000000" } },
        );
      const seen = await seenOfFetch(desk, endless, [["of 3.0 MB", "\x03"]]);
      assertEnded(seen, 130);
      const [last = ""] = seen.screen.split(`\r${ESCAPE}K`).slice(-1);
      assertEquals(last, "platform-auth: stopped; run the same command again to resume\r\n");
      assertEquals(namesIn(desk.folder).filter((name) => name.endsWith("part")).length, 1);
    }));
});

deskTest("doctor reads nothing that would cause a permission prompt", async (desk) => {
  const command = desk.commandLine(["doctor"]).filter((word) => word !== "--no-prompt");
  const seen = await inTerminal(command, [], { cwd: desk.folder, env: childEnvironment() });
  assertEquals(seen.screen.match(/requests.*access to.*/)?.[0], undefined);
  assertMatch(seen.screen, /permissions: /);
});

deskTest("doctor colors its marks, unless NO_COLOR or TERM=dumb is set", async (desk) => {
  const colored = await desk.type(["doctor"], []);
  assertStringIncludes(colored.screen, `${ESCAPE}32m✓${ESCAPE}0m`);
  for (const env of [{ NO_COLOR: "1" }, { TERM: "dumb" }]) {
    const plain = await desk.type(["doctor"], [], { env });
    assertMatch(plain.screen, /^✓ /m);
    assertEquals(plain.screen.includes(ESCAPE), false);
  }
});

/** Runs `fetch --output zeros` in a terminal, with this response of the API. */
async function seenOfFetch(
  desk: Desk,
  respond: () => Response,
  dialog: [string, Answer][] = [],
): Promise<Seen> {
  await desk.signIn();
  await using server = serveLocal(respond);
  const { origin } = server;
  return await desk.type(["fetch", origin, "-o", "zeros"], dialog, desk.reaching(origin));
}

deskTest("fetch --output shows its progress in one line and clears it at the end", async (desk) => {
  const { screen, sane } = await seenOfFetch(desk, () => new Response(new Uint8Array(3_000_000)));
  if (ON_WINDOWS) {
    // A Windows console draws and clears the line in its own way.
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
