/** `platform-auth init`, from a reply of the support channel and from prompts. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { dirname, join } from "node:path";
import { parseEnv } from "node:util";
import { repeatedPart } from "../support/canaries.ts";
import { type ChildResult, namesIn } from "../support/child_deno.ts";
import { childEnvironment, type CliWorld, inCliWorld } from "../support/cli_world.ts";
import { NOT_ON_WINDOWS, ROOT_ONLY, testNeeding } from "../support/needs.ts";
import { writeEnv } from "../support/sandbox_env.ts";
import {
  assertEnded,
  inTerminal,
  NO_INTERRUPTS,
  type Seen,
  terminalTest,
} from "../support/terminal.ts";
import { inOwnProcess } from "./own_process.ts";
import { repliesWith } from "./replies.ts";

/** Contains a digit, like the secrets that providers issue. */
const SECRET = crypto.randomUUID();

interface Desk extends CliWorld {
  /** Replies with the settings of the sandbox. */
  readonly reply: string;
  readonly replyWithoutSecret: string;
  /** The settings of the sandbox, without user and password. */
  readonly settings: Record<string, string>;
  /** Runs `init --from -` with this reply. */
  init(reply: string, ...more: string[]): Promise<ChildResult>;
}

/** A folder without a `.env`, and replies with the settings of a sandbox. */
function atDesk(use: (desk: Desk) => Promise<void>, inWorld = inOwnProcess): Promise<void> {
  return inWorld(async (world) => {
    await Deno.remove(world.envFile);
    const { USERNAME: _, PASSWORD: __, AUTH_PROVIDER: ___, ...settings } = world.variables;
    const replies = repliesWith(world.sandbox.settings);
    await use({
      ...world,
      settings,
      reply: replies["a list"] ?? "",
      replyWithoutSecret: replies["a reply without the secret"] ?? "",
      init: (stdin, ...more) => world.run(["init", "--from", "-", ...more], { stdin }),
    });
  }, { clientSecret: SECRET });
}

function assertHides({ stdout, stderr }: ChildResult): void {
  assertEquals(repeatedPart(stdout + stderr, [SECRET]), undefined);
}

function asLines(settings: Record<string, string>): string {
  return Object.entries(settings).map(([name, value]) => `${name}=${value}\n`).join("");
}

/** The content of the `.env`, as the runtime reads it. */
function settingsIn({ envFile }: CliWorld): ReturnType<typeof parseEnv> {
  return parseEnv(Deno.readTextFileSync(envFile));
}

Deno.test("init --from - writes a .env with which a login works", () =>
  atDesk(async (desk) => {
    // init ignores settings that a reply must not set, such as a store.
    const planted = `AUTH_STORE=rediss://store.example\nAUTH_STORE_KEY=${"a".repeat(43)}\n` +
      "AUTH_ENV_FILE=/dev/null\nUSERNAME=eve\nPASSWORD=eve\n";
    const init = await desk.init(planted + desk.reply);
    assertEquals(init.code, 0, init.stdout);
    assertHides(init);
    assertMatch(init.stdout, /^Wrote .*\.env: .*APP_CLIENT_SECRET.*$/m);
    assertMatch(init.stdout, /✓ settings: from the \.env: AUTH_URL/);
    assertEquals(settingsIn(desk), desk.settings);
    const login = ["login", "--username", "student", "--stdin"];
    assertEquals((await desk.run(login, { stdin: desk.variables.PASSWORD ?? "" })).code, 0);
  }));

Deno.test("init --global writes a private file that every folder without a .env uses", () =>
  atDesk(async ({ folder, reply: stdin, run, settings, variables }) => {
    const env = { XDG_CONFIG_HOME: `${folder}/config`, NO_COLOR: "1" };
    const given = { env, flags: ["-A"] };
    const file = join(folder, "config", "platform-auth", ".env");
    const init = await run(["init", "--global", "--from", "-"], { ...given, stdin });
    assertMatch(init.stdout, /^Wrote config\/platform-auth\/\.env: .*AUTH_URL/m);
    assertEquals(parseEnv(await Deno.readTextFile(file)), settings);
    const modes = [dirname(file), file].map((path) => (Deno.statSync(path).mode ?? 0) & 0o777);
    if (Deno.build.os !== "windows") assertEquals(modes, [0o700, 0o600]);
    const login = ["login", "--username", "student", "--stdin"];
    const { code } = await run(login, { ...given, stdin: variables.PASSWORD ?? "" });
    assertEquals([code, namesIn(folder)], [0, ["config"]]);
    assertMatch((await run(["status"], given)).stdout, /kept in config\/platform-auth\/\.env/);
  }, inCliWorld));

testNeeding(
  NOT_ON_WINDOWS,
  "init through a link writes the linked file",
  () =>
    atDesk(async ({ envFile, folder, init, reply }) => {
      await Deno.mkdir(`${folder}/shared`);
      await Deno.symlink("shared/settings", envFile);
      const { code, stdout } = await init(reply);
      assertEquals(code, 0, stdout);
      assertMatch(stdout, /^Wrote .*settings: /m);
      assert((await Deno.lstat(envFile)).isSymlink);
    }),
);

testNeeding(
  ROOT_ONLY,
  "init does not take over a .env of another user",
  () =>
    atDesk(async ({ envFile, folder, reply: stdin, run }) => {
      const given = { env: { XDG_CONFIG_HOME: `${folder}/config` }, flags: ["-A"], stdin };
      const own = `${folder}/config/platform-auth/.env`;
      await Deno.mkdir(dirname(own), { recursive: true });
      const text = "API_ALLOWED_ORIGINS=https://stranger.example\n";
      for (const [file, ...options] of [[envFile], [own, "--global"]] as const) {
        await Deno.writeTextFile(file, text);
        await Deno.chown(file, 12_345, 12_345);
        const { code, stderr } = await run(["init", "--from", "-", ...options], given);
        assertEquals(code, 1);
        assertMatch(stderr, /\.env: it belongs to another user.* explain ENV_FILE/);
        assertEquals([await Deno.readTextFile(file), Deno.statSync(file).uid], [text, 12_345]);
      }
    }, inCliWorld),
);

Deno.test("init without a place for the .env fails", () =>
  atDesk(async ({ run }) => {
    assertEquals((await run(["init", "--env-file=false"])).code, 2);
    const env = { AUTH_ENV_FILE: "", XDG_CONFIG_HOME: "", HOME: "", APPDATA: "" };
    const { code, stderr } = await run(["init", "--global"], { env });
    assertEquals(code, 2);
    assertMatch(stderr, /cannot find your configuration folder; set HOME/);
  }));

Deno.test("init --from rejects an impossible value, and says why without showing it", () =>
  atDesk(async (desk) => {
    await writeEnv(desk.folder, desk.settings);
    const said: [reply: string, stderr: RegExp][] = [
      [
        `Client secret: ${SECRET} or so\n`,
        /APP_CLIENT_SECRET in the reply is not used: it contains/,
      ],
      ["Dear Ada,\nwe will call.\n", /Found in the reply: no settings/],
    ];
    for (const [reply, message] of said) {
      const init = await desk.init(reply);
      assertMatch(init.stderr, message);
      assertMatch(init.stdout, /\.env is unchanged\n/);
      assertHides(init);
    }
    assertEquals(settingsIn(desk), desk.settings);
  }));

Deno.test("init without a terminal writes what it found, says what is missing, and fails", () =>
  atDesk(async (desk) => {
    const none = await desk.run(["init"]);
    assertEquals([none.code, namesIn(desk.folder)], [1, []]);
    assertMatch(none.stdout, /^! USER_POOL_ID is not set yet; run platform-auth init in a term/m);
    const init = await desk.init(desk.replyWithoutSecret);
    assertEquals(init.code, 1);
    assertMatch(init.stdout, /^! APP_CLIENT_SECRET is not set yet; .*add APP_CLIENT_SECRET=…/m);
    const { APP_CLIENT_SECRET: _, ...others } = desk.settings;
    assertEquals(settingsIn(desk), others);
  }));

Deno.test("init keeps the lines and values of a .env, and adds only missing settings", () =>
  atDesk(async (desk) => {
    const own = `# mine\r\nexport USER_POOL_ID="another-1_Pool" # old\r\nEDITOR=vi\r\n`;
    await Deno.writeTextFile(desk.envFile, own);
    await Deno.writeTextFile(`${desk.folder}/reply.txt`, desk.reply);
    const init = await desk.run(["init", "--from", `${desk.folder}/reply.txt`]);
    const pool = desk.settings.USER_POOL_ID ?? "";
    assertStringIncludes(init.stdout, `the file has another-1_Pool, the reply ${pool}; `);
    assertStringIncludes(init.stderr, `AUTH_URL (${new URL(desk.sandbox.authUrl).host})`);
    assertHides(init);
    const text = await Deno.readTextFile(desk.envFile);
    assert(text.startsWith(own));
    const { USER_POOL_ID: _, ...added } = desk.settings;
    assertEquals(parseEnv(text.slice(own.length)), added);
    // The second run has nothing to do.
    assertMatch((await desk.run(["init"])).stdout, /\.env is unchanged\n/);
    assertEquals(await Deno.readTextFile(desk.envFile), text);
  }));

Deno.test("init shows values that differ, but no secret and no query of an address", () =>
  atDesk(async (desk) => {
    const [other, key] = [crypto.randomUUID(), crypto.randomUUID()];
    // The client's id and secret are in each other's place.
    const wrong = { APP_CLIENT_ID: other, APP_CLIENT_SECRET: SECRET };
    await writeEnv(desk.folder, { ...desk.settings, ...wrong, API_BASE_URL: "https://a.example" });
    const api = `https://b.example/v1?key=${key}`;
    const reply = { APP_CLIENT_ID: SECRET, APP_CLIENT_SECRET: other, API_BASE_URL: api };
    const { stdout, stderr } = await desk.init(asLines(reply));
    assertEquals(repeatedPart(stdout + stderr, [SECRET, other, key]), undefined);
    const difference = "the file has https://a.example/, the reply https://b.example/v1;";
    assertStringIncludes(stdout, difference);
  }));

Deno.test("init --from does not show a reply or an address that was passed instead of a file", () =>
  atDesk(async (desk) => {
    for (const from of [desk.reply, `https://ada:${SECRET}@mail.example/reply`]) {
      const { code, stdout, stderr } = await desk.run(["init", "--from", from]);
      assertEquals([code, repeatedPart(stdout + stderr, [SECRET])], [1, undefined]);
      assertMatch(stderr, /Cannot read the input of --from: .*; check the path/);
    }
  }));

Deno.test("init adds the .env to .gitignore once", () =>
  atDesk(async (desk) => {
    await Deno.mkdir(`${desk.folder}/.git`);
    await Deno.writeTextFile(`${desk.folder}/.gitignore`, "node_modules\r\n*.csv");
    const { stdout } = await desk.init(desk.reply);
    assertMatch(stdout, /^Added to \.gitignore: \.env\*, !\.env\.example$/m);
    await Deno.writeTextFile(desk.envFile, "");
    await desk.init(desk.reply);
    const ignored = await Deno.readTextFile(`${desk.folder}/.gitignore`);
    assertEquals(ignored, "node_modules\r\n*.csv\n.env*\n!.env.example\n");
  }));

const PASTE = "prompted for each setting:";

function type(desk: Desk, dialog: [string, string][]): Promise<Seen> {
  return inTerminal(desk.commandLine(["init"]), dialog, {
    cwd: desk.folder,
    env: childEnvironment({ USERNAME: "", PASSWORD: "" }),
  });
}

terminalTest(
  "init accepts a pasted reply, prompts for missing settings, and shows no value",
  () =>
    atDesk(async (desk) => {
      // A terminal sends a carriage return for each end of a line. Some do not mark pasted text.
      const reply = desk.replyWithoutSecret.replaceAll(/\r?\n/g, "\r");
      const seen = await type(desk, [
        [PASTE, reply],
        ["*", "\r\r"],
        ["App client secret (hidden", `${SECRET}\r`],
      ]);
      // Not the exit status: its checks have five seconds, which a busy machine may need.
      assertEquals([seen.sane, seen.left], [true, 0], seen.screen);
      const { clientId, userPoolId } = desk.sandbox.settings;
      const [head = ""] = seen.screen.split("Wrote .env");
      assertEquals(repeatedPart(head, [clientId, userPoolId, "REQ-2026-0000123456"]), undefined);
      assertEquals(repeatedPart(seen.screen, [SECRET]), undefined);
      assertEquals(settingsIn(desk), desk.settings);
      const again = await type(desk, []);
      assertMatch(again.screen, /^\.env is unchanged/);
    }),
);

terminalTest(
  "init prompts for each setting, and again after an invalid value",
  () =>
    atDesk(async (desk) => {
      const { AUTH_URL = "", APP_CLIENT_ID = "", USER_POOL_ID = "" } = desk.settings;
      const seen = await type(desk, [
        [PASTE, "\r"],
        ["token endpoint", "http://provider.example\r"],
        ["must begin with https:", `${AUTH_URL}\r`],
        ["App client id:", `${AUTH_URL}\r`],
        ["cannot be used: it is an address. App client id:", `${APP_CLIENT_ID}\r`],
        ["App client secret (hidden", "none\r"],
        ["User pool id:", `${AUTH_URL}\r`],
        ["cannot be used: it is an address. User pool id:", `${USER_POOL_ID}\r`],
        ["Base address", "\r"],
      ]);
      assertEquals([seen.sane, seen.left], [true, 0], seen.screen);
      assertEquals(seen.screen.match(/For .*:\s+.*:/g)?.length, 1, "only a secret has a receiver");
      assertMatch(seen.screen, /API_BASE_URL is not set yet/);
      assertEquals(settingsIn(desk), {
        AUTH_URL,
        APP_CLIENT_ID,
        APP_CLIENT_SECRET: "",
        USER_POOL_ID,
      });
    }),
);

testNeeding(
  NO_INTERRUPTS,
  "Ctrl-C at a prompt ends init with exit status 130; nothing is written",
  () =>
    atDesk(async (desk) => {
      const seen = await type(desk, [
        [PASTE, "\r"],
        ["token endpoint", "https://provider.example\r"],
        ["App client id:", "\x03"],
      ]);
      assertEnded(seen, 130);
      assertEquals(namesIn(desk.folder), []);
    }),
);
