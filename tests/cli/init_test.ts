/** `platform-auth init`, from a reply of the support channel and from prompts. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { dirname, join } from "node:path";
import { parseEnv } from "node:util";
import { repeatedPart } from "../support/canaries.ts";
import { type ChildResult, namesIn } from "../support/child_deno.ts";
import { childEnvironment, type CliWorld, inCliWorld } from "../support/cli_world.ts";
import { type Lack, ROOT_ONLY, testNeeding } from "../support/needs.ts";
import { writeEnv } from "../support/sandbox_env.ts";
import {
  assertEnded,
  inTerminal,
  NO_INTERRUPTS,
  type Seen,
  terminalTest,
} from "../support/terminal.ts";
import { commandTest, type CommandWorld } from "./own_process.ts";
import { repliesWith } from "./replies.ts";

/** Contains a digit, like the secrets that providers issue. */
const SECRET = crypto.randomUUID();

/** Removes the `.env`. Returns its settings without user and password, and replies with them. */
async function supportOf({ envFile, variables, sandbox }: CliWorld) {
  await Deno.remove(envFile);
  const { USERNAME: _, PASSWORD: __, AUTH_PROVIDER: ___, ...settings } = variables;
  const replies = repliesWith(sandbox.settings);
  const reply = replies["a list"] ?? "";
  return { settings, reply, replyWithoutSecret: replies["a reply without the secret"] ?? "" };
}

interface Desk extends CommandWorld, Awaited<ReturnType<typeof supportOf>> {
  /** Runs `init --from -` with this reply. */
  init(reply: string): Promise<ChildResult>;
}

/** Registers a test in a folder without a `.env`. */
function initTest(name: string, use: (desk: Desk) => Promise<void>, lack?: Lack): void {
  commandTest(name, async (world) => {
    const init = (stdin: string) => world.run(["init", "--from", "-"], { stdin });
    await use({ ...world, ...await supportOf(world), init });
  }, { clientSecret: SECRET, lack });
}

function assertHides({ stdout, stderr }: ChildResult): void {
  assertEquals(repeatedPart(stdout + stderr, [SECRET]), undefined);
}

/** The content of the `.env`, as the runtime reads it. */
function settingsIn({ envFile }: CliWorld): ReturnType<typeof parseEnv> {
  return parseEnv(Deno.readTextFileSync(envFile));
}

initTest("init --from - writes a .env with which a login works", async (desk) => {
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
});

initTest(
  "init --global writes a private file that every folder without a .env uses",
  async (desk) => {
    const { folder, reply: stdin, runSeparately: run, settings } = desk;
    const given = { env: { XDG_CONFIG_HOME: `${folder}/config` }, flags: ["-A"] };
    const file = join(folder, "config", "platform-auth", ".env");
    const init = await run(["init", "--global", "--from", "-"], { ...given, stdin });
    assertMatch(init.stdout, /^Wrote config\/platform-auth\/\.env: .*AUTH_URL/m);
    assertEquals(parseEnv(await Deno.readTextFile(file)), settings);
    const modes = [dirname(file), file].map((path) => (Deno.statSync(path).mode ?? 0) & 0o777);
    if (Deno.build.os !== "windows") assertEquals(modes, [0o700, 0o600]);
    const { stdout } = await run(["status", "--json"], given);
    assertEquals([JSON.parse(stdout).envFile, namesIn(folder)], [file, ["config"]]);
  },
);

initTest("init does not take over a .env of another user", async (desk) => {
  const { envFile, folder, reply: stdin, runSeparately } = desk;
  const text = "API_ALLOWED_ORIGINS=https://stranger.example\n";
  await writeEnv(folder, { API_ALLOWED_ORIGINS: "https://stranger.example" });
  await Deno.chown(envFile, 12_345, 12_345);
  const { code, stderr } = await runSeparately(["init", "--from", "-"], { flags: ["-A"], stdin });
  assertEquals(code, 1);
  assertMatch(stderr, /\.env: it belongs to another user.* explain ENV_FILE/);
  assertEquals([await Deno.readTextFile(envFile), Deno.statSync(envFile).uid], [text, 12_345]);
}, ROOT_ONLY);

initTest(
  "init --from rejects an impossible value, and says why without showing it",
  async (desk) => {
    await writeEnv(desk.folder, desk.settings);
    const init = await desk.init(`Client secret: ${SECRET} or so\n`);
    assertMatch(init.stderr, /APP_CLIENT_SECRET in the reply is not used: it contains/);
    assertMatch(init.stdout, /\.env is unchanged\n/);
    assertHides(init);
    assertEquals(settingsIn(desk), desk.settings);
  },
);

initTest(
  "init without a terminal writes what it found, says what is missing, and fails",
  async (desk) => {
    const none = await desk.run(["init"]);
    assertEquals([none.code, namesIn(desk.folder)], [1, []]);
    assertMatch(none.stdout, /^! USER_POOL_ID is not set yet; run platform-auth init in a term/m);
    const init = await desk.init(desk.replyWithoutSecret);
    assertEquals(init.code, 1);
    assertMatch(init.stdout, /^! APP_CLIENT_SECRET is not set yet; .*add APP_CLIENT_SECRET=…/m);
    const { APP_CLIENT_SECRET: _, ...others } = desk.settings;
    assertEquals(settingsIn(desk), others);
  },
);

initTest(
  "init keeps the lines and values of a .env, and adds only missing settings",
  async (desk) => {
    const own = `# mine\r\nexport USER_POOL_ID="another-1_Pool" # old\r\nEDITOR=vi\r\n`;
    await Deno.writeTextFile(desk.envFile, own);
    await Deno.writeTextFile(`${desk.folder}/reply.txt`, desk.reply);
    const init = await desk.run(["init", "--from", `${desk.folder}/reply.txt`]);
    const { USER_POOL_ID: pool, ...added } = desk.settings;
    assertStringIncludes(init.stdout, `the file has another-1_Pool, the reply ${pool}; `);
    assertStringIncludes(init.stderr, `AUTH_URL (${new URL(desk.sandbox.authUrl).host})`);
    assertHides(init);
    const text = await Deno.readTextFile(desk.envFile);
    assert(text.startsWith(own));
    assertEquals(parseEnv(text.slice(own.length)), added);
    // The second run has nothing to do.
    assertMatch((await desk.run(["init"])).stdout, /\.env is unchanged\n/);
    assertEquals(await Deno.readTextFile(desk.envFile), text);
  },
);

initTest(
  "init shows values that differ, but no secret and no query of an address",
  async (desk) => {
    const [other, key] = [crypto.randomUUID(), crypto.randomUUID()];
    // The client's id and secret are in each other's place.
    const wrong = { APP_CLIENT_ID: other, APP_CLIENT_SECRET: SECRET };
    await writeEnv(desk.folder, { ...desk.settings, ...wrong, API_BASE_URL: "https://a.example" });
    const { stdout, stderr } = await desk.init(
      `APP_CLIENT_ID=${SECRET}\nAPP_CLIENT_SECRET=${other}\nAPI_BASE_URL=https://b.example/v1?key=${key}`,
    );
    assertEquals(repeatedPart(stdout + stderr, [SECRET, other, key]), undefined);
    const difference = "the file has https://a.example/, the reply https://b.example/v1;";
    assertStringIncludes(stdout, difference);
  },
);

initTest("init --from does not show a reply that was passed instead of a file", async (desk) => {
  const init = await desk.run(["init", "--from", desk.reply]);
  assertEquals(init.code, 1);
  assertHides(init);
  assertMatch(init.stderr, /Cannot read the input of --from: .*; check the path/);
});

initTest("init adds the .env to .gitignore once", async (desk) => {
  await Deno.mkdir(`${desk.folder}/.git`);
  await Deno.writeTextFile(`${desk.folder}/.gitignore`, "node_modules\r\n*.csv");
  const { stdout } = await desk.init(desk.reply);
  assertMatch(stdout, /^Added to \.gitignore: \.env\*, !\.env\.example$/m);
  await Deno.writeTextFile(desk.envFile, "");
  await desk.init(desk.reply);
  const ignored = await Deno.readTextFile(`${desk.folder}/.gitignore`);
  assertEquals(ignored, "node_modules\r\n*.csv\n.env*\n!.env.example\n");
});

const PASTE = "prompted for each setting:";

interface TypedDesk extends CliWorld, Awaited<ReturnType<typeof supportOf>> {
  /** Runs `init` in a terminal. */
  type(dialog: [awaited: string, answer: string][]): Promise<Seen>;
}

function typedTest(
  name: string,
  use: (desk: TypedDesk) => Promise<void>,
  register = terminalTest,
): void {
  register(name, () =>
    inCliWorld(async (world) => {
      const given = { cwd: world.folder, env: childEnvironment({ USERNAME: "", PASSWORD: "" }) };
      const type: TypedDesk["type"] = (dialog) =>
        inTerminal(world.commandLine(["init"]), dialog, given);
      await use({ ...world, ...await supportOf(world), type });
    }, { clientSecret: SECRET }));
}

typedTest(
  "init accepts a pasted reply, prompts for missing settings, and shows no value",
  async (desk) => {
    // A terminal sends a carriage return for each end of a line. Some do not mark pasted text.
    const reply = desk.replyWithoutSecret.replaceAll(/\r?\n/g, "\r");
    const seen = await desk.type([
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
  },
);

typedTest("init prompts for each setting, and again after an invalid value", async (desk) => {
  const { AUTH_URL = "", APP_CLIENT_ID = "", USER_POOL_ID = "" } = desk.settings;
  const seen = await desk.type([
    [PASTE, "\r"],
    ["token endpoint", "http://provider.example\r"],
    ["must begin with https:", `${AUTH_URL}\r`],
    ["App client id:", `${APP_CLIENT_ID}\r`],
    ["App client secret (hidden", "none\r"],
    ["User pool id:", `${AUTH_URL}\r`],
    ["cannot be used: it is an address. User pool id:", `${USER_POOL_ID}\r`],
    ["Base address", "\r"],
  ]);
  assertEquals([seen.sane, seen.left], [true, 0], seen.screen);
  assertMatch(seen.screen, /For 127\.0\.0\.1:\d+:\s+App client secret/);
  assertMatch(seen.screen, /API_BASE_URL is not set yet/);
  const APP_CLIENT_SECRET = "";
  assertEquals(settingsIn(desk), { AUTH_URL, APP_CLIENT_ID, APP_CLIENT_SECRET, USER_POOL_ID });
});

typedTest("Ctrl-C at a prompt ends init with exit status 130; nothing is written", async (desk) => {
  const seen = await desk.type([
    [PASTE, "\r"],
    ["token endpoint", "https://provider.example\r"],
    ["App client id:", "\x03"],
  ]);
  assertEnded(seen, 130);
  assertEquals(namesIn(desk.folder), []);
}, (name, fn) => testNeeding(NO_INTERRUPTS, name, fn));
