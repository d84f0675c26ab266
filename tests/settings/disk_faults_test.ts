import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Session } from "../../mod.ts";
import { inFolder, namesIn, runScript } from "../support/child_deno.ts";
import { needing, NOT_ON_WINDOWS, subject } from "../support/needs.ts";
import { linesOf, type Portless, portless, rejection } from "../support/portless.ts";
import { fill, frozen, noFreezing, noTinyDisk, onTinyDisk } from "../support/disks.ts";

const MINE = "# my settings\r\nexport MINE='a b'\nEMPTY=\n";

function folderOf(path: string): string {
  return path.replace(/[\\/][^\\/]*$/, "");
}

/** Two refreshes and a call go well in memory, and one warning says why it is there. */
async function assertMemoryOnly(session: Session, why: RegExp): Promise<void> {
  for (let time = 0; time < 2; time++) {
    const { state, warnings } = await session.refresh();
    assertEquals([state, warnings.length], ["valid", 1], warnings.join("\n"));
    assertMatch(
      warnings[0] ?? "",
      /kept in memory only: Cannot (write|use) .*; (check|close|create|name|save) /,
    );
    assertMatch(warnings[0] ?? "", why);
  }
  assertEquals((await session.authFetch("/v1/whoami")).status, 200);
}

/** The trouble is over: the next save works, and the warning goes. */
async function assertSavedAgain(world: Portless, session: Session, path: string): Promise<void> {
  const { warnings } = await session.refresh();
  assertEquals(warnings, []);
  assert(linesOf(path).ACCESS_TOKEN === await session.accessToken());
  assert(linesOf(path).REFRESH_TOKEN === world.sent.at(-1)?.parameters.REFRESH_TOKEN);
  if (Deno.build.os !== "windows") assertEquals((Deno.statSync(path).mode ?? 0) & 0o777, 0o600);
}

Deno.test({
  ...needing(noTinyDisk, "a disk without space leaves the file whole and the session in memory"),
  fn: () =>
    onTinyDisk(async (folder) => {
      const envFile = `${folder}/.env`;
      Deno.writeTextFileSync(envFile, MINE, { mode: 0o600 });
      fill(`${folder}/big`);
      await using world = portless({ session: { envFile } });
      assertEquals((await world.session.login()).state, "valid");
      await assertMemoryOnly(world.session, /No space left on device|os error 112/);
      assertEquals(Deno.readTextFileSync(envFile), MINE);
      assertEquals(namesIn(folder).filter((name) => name !== ".env.lock"), [".env", "big"]);
      Deno.removeSync(`${folder}/big`);
      await assertSavedAgain(world, world.session, envFile);
    }),
});

subject(NOT_ON_WINDOWS, "frozen files, modes and owners", (test) => {
  const places = [
    ["a folder that nobody can write to", folderOf, [".env"]],
    ["a file that nobody can change", String, [".env", ".env.lock"]],
  ] as const;
  for (const [what, placeOf, left] of places) {
    test(needing(noFreezing, `${what} leaves the session in memory`), async () => {
      await using world = portless({ file: true });
      Deno.writeTextFileSync(world.envFile, MINE, { mode: 0o600 });
      await frozen(placeOf(world.envFile), async () => {
        assertEquals((await world.session.login()).state, "valid");
        await assertMemoryOnly(world.session, /denies access|Operation not permitted/);
        assertEquals(Deno.readTextFileSync(world.envFile), MINE);
        assertEquals(namesIn(folderOf(world.envFile)), left);
      });
      await assertSavedAgain(world, world.session, world.envFile);
    });
  }

  test({
    name: "a file is 0600 even with a loose umask, and so are its companion files",
    fn: async () => {
      // All that runs in a process has its umask.
      const script = `
        import { portless } from ${JSON.stringify(import.meta.resolve("../support/portless.ts"))};
        await using world = portless({ file: true });
        Deno.umask(0);
        await world.session.login();
        for (const path of [world.envFile, world.envFile + ".lock"]) {
          console.log(((Deno.statSync(path).mode ?? 0) & 0o777).toString(8));
        }`;
      const { stdout } = await inFolder((cwd) => runScript(script, { cwd, flags: ["-A"] }));
      assertEquals(stdout, "600\n600\n");
    },
  });
});

Deno.test("a file removed between two cells is made again by the next save", async () => {
  await using world = portless({ file: true });
  Deno.writeTextFileSync(world.envFile, MINE, { mode: 0o600 });
  await world.session.login();
  Deno.removeSync(world.envFile);
  assertEquals((await world.session.authFetch("/v1/whoami")).status, 200);
  world.clock.advance(3_000);
  assertEquals((await world.session.authFetch("/v1/whoami")).status, 200);
  await assertSavedAgain(world, world.session, world.envFile);
  assertEquals(world.logins(), 1);
});

const spoiled: [what: string, why: RegExp, spoil: (text: string) => Uint8Array][] = [
  [
    "that an editor saved as UTF-16",
    /it is not UTF-8 text; save it as UTF-8/,
    () => new Uint8Array([0xff, 0xfe, 0x41, 0x00]),
  ],
  [
    "with an open quote",
    /a quote in it is not closed; close the quote in an editor/,
    (text) => new TextEncoder().encode(`NOTE="open\n${text}`),
  ],
];
for (const [what, why, spoil] of spoiled) {
  Deno.test(`a file ${what} leaves the session in memory, until it is corrected`, async () => {
    await using world = portless({ file: true });
    await world.session.login();
    const text = Deno.readTextFileSync(world.envFile);
    const bytes = spoil(text);
    Deno.writeFileSync(world.envFile, bytes);
    world.clock.advance(3_000);
    await assertMemoryOnly(world.session, why);
    assertEquals(Deno.readFileSync(world.envFile), bytes);
    Deno.writeTextFileSync(world.envFile, text);
    await assertSavedAgain(world, world.session, world.envFile);
    assertEquals(world.logins(), 1);
  });
}

Deno.test("a file edited by hand keeps the edits, wherever the session is", async () => {
  await using world = portless({ file: true });
  Deno.writeTextFileSync(world.envFile, MINE, { mode: 0o600 });
  await world.session.login();
  let own = 0;
  for (const work of [world.session.refresh, () => world.session.login({ force: true })]) {
    const edited = `FIRST=${++own}\n${Deno.readTextFileSync(world.envFile)}LAST=${own}\r\n`;
    Deno.writeTextFileSync(world.envFile, edited);
    await work();
    const text = Deno.readTextFileSync(world.envFile);
    assert(text.startsWith(`FIRST=${own}\n`) && text.endsWith(`LAST=${own}\r\n`));
    assert(text.includes(MINE));
  }
  await world.session.logout();
  assertEquals(
    Deno.readTextFileSync(world.envFile),
    `FIRST=2\nFIRST=1\n${MINE}LAST=1\r\nLAST=2\r\n`,
  );
});

Deno.test("an edit made by hand while a save is under way is kept", async () => {
  await using world = portless({ file: true });
  Deno.writeTextFileSync(world.envFile, MINE, { mode: 0o600 });
  await world.session.login();
  const open = Deno.openSync;
  let edits = 0;
  // The editor saves when the new text is made and not yet in its place.
  Deno.openSync = (path, options) => {
    const file = open(path, options);
    if (String(path).endsWith(".tmp") && edits++ === 0) {
      Deno.writeTextFileSync(world.envFile, "LATE=1\n", { append: true });
    }
    return file;
  };
  try {
    assertEquals((await world.session.refresh()).warnings, []);
  } finally {
    Deno.openSync = open;
  }
  assert(edits > 0);
  assertEquals(linesOf(world.envFile).LATE, "1");
  await assertSavedAgain(world, world.session, world.envFile);
});

Deno.test("token lines that are taken out by hand end the session, as logout() does", async () => {
  await using world = portless({ file: true });
  await world.session.login();
  Deno.writeTextFileSync(world.envFile, MINE);
  world.clock.advance(3_000);
  assertEquals((await rejection(world.session.authFetch("/v1/whoami"))).code, "NO_SESSION");
  assertEquals(Deno.readTextFileSync(world.envFile), MINE);
});

Deno.test("a token line broken by hand is reported, and the file is left unchanged", async () => {
  await using world = portless({ file: true });
  await world.session.login();
  const spoiled = Deno.readTextFileSync(world.envFile).replace(/^(ACCESS_TOKEN=.*)$/m, "$1 oops y");
  Deno.writeTextFileSync(world.envFile, spoiled);
  world.clock.advance(3_000);
  const error = await rejection(world.session.authFetch("/v1/whoami"));
  assertEquals(error.code, "NO_SESSION");
  assertMatch(error.message, /ACCESS_TOKEN in the \.env is not a token/);
  assert(Deno.readTextFileSync(world.envFile) === spoiled);
  assertEquals((await world.session.login()).state, "valid");
});

Deno.test("sessions work on a file system without locks, each refreshes on its own, and saves stay whole", async () => {
  await using world = portless({ file: true });
  Deno.writeTextFileSync(world.envFile, MINE, { mode: 0o600 });
  const { tryLockSync } = Deno.FsFile.prototype;
  let calls = 0;
  Deno.FsFile.prototype.tryLockSync = () => {
    calls++;
    throw new Deno.errors.NotSupported("no locks");
  };
  try {
    await world.session.login();
    world.clock.advance(3_000);
    const sessions = [world.session, world.another()];
    const answers = world.hold();
    const work = sessions.map((each) => each.accessToken());
    await answers.arrived;
    while (world.refreshes() < 2) await new Promise((done) => setTimeout(done));
    answers.release();
    const tokens = await Promise.all(work);
    assert(tokens.includes(linesOf(world.envFile).ACCESS_TOKEN ?? ""));
    assertEquals(namesIn(folderOf(world.envFile)), [".env", ".env.lock"]);
    for (const each of sessions) assertEquals((await each.authFetch("/v1/whoami")).status, 200);
    await world.session.logout();
    assertEquals(Deno.readTextFileSync(world.envFile), MINE);
    assert(calls > 0);
  } finally {
    Deno.FsFile.prototype.tryLockSync = tryLockSync;
  }
});

Deno.test("logout() removes the tokens that a crash left next to the file", async () => {
  await using world = portless({ file: true });
  Deno.writeTextFileSync(world.envFile, MINE);
  Deno.writeTextFileSync(`${world.envFile}.tmp`, `${MINE}ACCESS_TOKEN=left-behind\n`);
  await world.session.logout();
  assertEquals(namesIn(folderOf(world.envFile)).filter((name) => name !== ".env.lock"), [".env"]);
  assertEquals(Deno.readTextFileSync(world.envFile), MINE);
});

Deno.test("a .env that is empty while an editor saves it changes nothing", async () => {
  await using world = portless({ file: true, sandbox: { rotateRefreshTokens: true } });
  await world.session.login();
  const text = MINE + Deno.readTextFileSync(world.envFile);
  Deno.writeTextFileSync(world.envFile, text);
  assertEquals(world.session.status().state, "valid");
  Deno.writeTextFileSync(world.envFile, "");
  assertEquals(world.session.status().state, "valid");
  assertEquals((await world.session.authFetch("/v1/whoami")).status, 200);
  // The editor saves the rest while a refresh waits for it.
  const held = world.hold();
  const refresh = world.session.refresh();
  setTimeout(() => Deno.writeTextFileSync(world.envFile, text), 30);
  await held.arrived;
  held.release();
  await refresh;
  const saved = Deno.readTextFileSync(world.envFile);
  assertEquals(saved.startsWith(MINE), true, "the user's lines");
  assertEquals(linesOf(world.envFile).ACCESS_TOKEN, await world.session.accessToken());
});
