/** Full and read-only disks, and programs that change the `.env` while a session uses it. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Session } from "../../mod.ts";
import { namesIn } from "../support/child_deno.ts";
import { type Lack, testNeeding } from "../support/needs.ts";
import { linesOf, type Portless, portless, rejection, signedIn } from "../support/portless.ts";
import {
  fill,
  frozen,
  mounted,
  noFreezing,
  noModelessDisk,
  noMounts,
  noTinyDisk,
  onTinyDisk,
  withoutModes,
} from "../support/disks.ts";
import { until } from "../support/until.ts";

const MINE = "# my settings\r\nexport MINE='a b'\nEMPTY=\n";

function folderOf(path: string): string {
  return path.replace(/[\\/][^\\/]*$/, "");
}

/** Fails unless two refreshes and a call succeed, with one warning that contains the reason. */
async function assertMemoryOnly(session: Session, why: RegExp): Promise<void> {
  for (let time = 0; time < 2; time++) {
    const { state, warnings } = await session.refresh();
    assertEquals([state, warnings.length], ["valid", 1], warnings.join("\n"));
    assertMatch(
      warnings[0] ?? "",
      /kept in memory only: Cannot (write|use) .*; (check|close|create|mount|name|save) /,
    );
    assertMatch(warnings[0] ?? "", why);
  }
  assertEquals((await session.authFetch("/v1/whoami")).status, 200);
}

/** Fails unless the next refresh is saved without a warning. */
async function assertSavedAgain(world: Portless, path = world.envFile): Promise<void> {
  const { warnings } = await world.session.refresh();
  assertEquals(warnings, []);
  assert(linesOf(path).ACCESS_TOKEN === await world.session.accessToken());
  assert(linesOf(path).REFRESH_TOKEN === world.sent.at(-1)?.parameters.REFRESH_TOKEN);
  if (Deno.build.os !== "windows") assertEquals((Deno.statSync(path).mode ?? 0) & 0o777, 0o600);
}

/** Works as if the disk had no locks. */
async function withoutLocks(work: () => Promise<unknown>): Promise<void> {
  const { tryLockSync } = Deno.FsFile.prototype;
  Deno.FsFile.prototype.tryLockSync = () => {
    throw new Deno.errors.NotSupported("no locks");
  };
  try {
    await work();
  } finally {
    Deno.FsFile.prototype.tryLockSync = tryLockSync;
  }
}

type Work = () => Promise<void>;

/** Lets a session log in before the fault, and another one during the fault. */
async function assertSurvives(
  world: Portless,
  path: string,
  during: (path: string, work: Work) => Promise<void>,
  why: RegExp,
): Promise<void> {
  Deno.writeTextFileSync(path, MINE, { mode: 0o600 });
  await world.session.login();
  await during(path, async () => {
    const before = Deno.readFileSync(path);
    await assertMemoryOnly(world.session, why);
    assertEquals((await world.another().login({ force: true })).state, "valid");
    assertEquals(Deno.readFileSync(path), before);
    assertEquals(namesIn(folderOf(path)).filter((name) => name.endsWith(".tmp")), []);
  });
  await assertSavedAgain(world, path);
  assert(Deno.readTextFileSync(path).startsWith(MINE));
}

testNeeding(
  noTinyDisk,
  "a session stays in memory while the disk of its .env is full",
  () =>
    onTinyDisk(async (folder) => {
      const envFile = `${folder}/.env`;
      await using world = portless({ session: { envFile } });
      const full = async (_: string, work: Work) => {
        fill(`${folder}/big`);
        await work();
        Deno.removeSync(`${folder}/big`);
      };
      await assertSurvives(world, envFile, full, /No space left on device|os error 112/);
    }),
);

/** Changes the file during the work. */
async function changed(path: string, change: (text: string) => Uint8Array, work: Work) {
  const text = Deno.readTextFileSync(path);
  Deno.writeFileSync(path, change(text));
  await work();
  Deno.writeTextFileSync(path, text);
}

const UTF_16 = new Uint8Array([0xff, 0xfe, 0x41, 0x00]);
const withOpenQuote = (text: string) => new TextEncoder().encode(`NOTE="open\n${text}`);
const FAULTS: [
  what: string,
  lack: Lack | undefined,
  during: (path: string, work: Work) => Promise<void>,
  why: RegExp,
][] = [
  [
    "is in a read-only folder",
    noFreezing,
    (path, work) => frozen(folderOf(path), work),
    /\(os error \d+\)/,
  ],
  [
    "is mounted as a single file",
    noMounts,
    mounted,
    /it is mounted as a single file, which cannot be replaced; mount its folder/,
  ],
  [
    "is in UTF-16",
    undefined,
    (path, work) => changed(path, () => UTF_16, work),
    /it is not UTF-8 text; save it as UTF-8 in an editor/,
  ],
  [
    "has an unclosed quote",
    undefined,
    (path, work) => changed(path, withOpenQuote, work),
    /a quote in it is not closed; close the quote in an editor/,
  ],
];
for (const [what, lack, during, why] of FAULTS) {
  testNeeding(lack, `a session stays in memory while its .env ${what}`, async () => {
    await using world = portless({ file: true });
    await assertSurvives(world, world.envFile, during, why);
  });
}

testNeeding(
  noModelessDisk,
  "a save warns that the disk cannot make the .env private",
  async () => {
    await using world = portless({ file: true });
    await withoutModes(folderOf(world.envFile), async () => {
      const { notices } = await world.session.login();
      assertEquals(notices.map(({ code, level }) => `${code} ${level}`), ["FILE_IS_OPEN warning"]);
    });
  },
);

Deno.test("the next save recreates a deleted .env", async () => {
  await using world = await signedIn({ file: true });
  Deno.removeSync(world.envFile);
  assertEquals((await world.session.authFetch("/v1/whoami")).status, 200);
  world.clock.advance(3_000);
  assertEquals((await world.session.authFetch("/v1/whoami")).status, 200);
  await assertSavedAgain(world);
  assertEquals(world.logins(), 1);
});

Deno.test("the session ends if its lines are removed from the .env", async () => {
  await using world = await signedIn({ file: true });
  Deno.writeTextFileSync(world.envFile, MINE);
  world.clock.advance(3_000);
  assertEquals((await rejection(world.session.authFetch("/v1/whoami"))).code, "NO_SESSION");
  assertEquals(Deno.readTextFileSync(world.envFile), MINE);
});

Deno.test("an ACCESS_TOKEN line that was damaged in an editor is reported and left unchanged", async () => {
  await using world = await signedIn({ file: true });
  const spoiled = Deno.readTextFileSync(world.envFile).replace(/^(ACCESS_TOKEN=.*)$/m, "$1 oops y");
  Deno.writeTextFileSync(world.envFile, spoiled);
  world.clock.advance(3_000);
  const error = await rejection(world.session.authFetch("/v1/whoami"));
  assertEquals(error.code, "NO_SESSION");
  assertMatch(error.message, /ACCESS_TOKEN in the \.env is not a token/);
  assert(Deno.readTextFileSync(world.envFile) === spoiled);
  assertEquals((await world.session.login()).state, "valid");
});

Deno.test("without file locks, each session refreshes on its own, and every save is complete", async () => {
  await using world = portless({ file: true });
  Deno.writeTextFileSync(world.envFile, MINE, { mode: 0o600 });
  await withoutLocks(async () => {
    await world.session.login();
    world.clock.advance(3_000);
    const sessions = [world.session, world.another()];
    const answers = world.hold();
    const work = sessions.map((each) => each.accessToken());
    await answers.arrived;
    await until(() => world.refreshes() === 2);
    answers.release();
    const tokens = await Promise.all(work);
    assert(tokens.includes(linesOf(world.envFile).ACCESS_TOKEN ?? ""));
    for (const each of sessions) assertEquals((await each.authFetch("/v1/whoami")).status, 200);
    await world.session.logout();
    assertEquals(Deno.readTextFileSync(world.envFile), MINE);
  });
});

Deno.test("the next login or logout removes the temporary files of killed saves", async () => {
  await using world = portless({ file: true });
  const folder = folderOf(world.envFile);
  const others = [".env.backup.tmp", `.env2.${crypto.randomUUID()}.tmp`];
  for (const save of [world.session.login, world.session.logout]) {
    for (const name of [`.env.${crypto.randomUUID()}.tmp`, ...others]) {
      Deno.writeTextFileSync(`${folder}/${name}`, "ACCESS_TOKEN=left-behind\n");
    }
    await save();
    assertEquals(namesIn(folder).filter((name) => name.endsWith(".tmp")), others);
  }
});

Deno.test("a save without the lock leaves the temporary file of the process that holds it", async () => {
  await using world = portless({ file: true });
  const ofHolder = `${world.envFile}.tmp`;
  Deno.writeTextFileSync(ofHolder, "ACCESS_TOKEN=of-the-holder\n");
  await withoutLocks(() => world.session.login());
  assertEquals(Deno.readTextFileSync(ofHolder), "ACCESS_TOKEN=of-the-holder\n");
});

Deno.test("a save succeeds if another process removes its temporary file", async () => {
  await using world = await signedIn({ file: true });
  const { renameSync } = Deno;
  Deno.renameSync = (from, to) => {
    Deno.renameSync = renameSync;
    Deno.removeSync(from);
    renameSync(from, to);
  };
  await withoutLocks(() => assertSavedAgain(world));
  assert(Deno.renameSync === renameSync);
});

Deno.test("a session continues while an editor has emptied the .env", async () => {
  await using world = await signedIn({ file: true });
  Deno.writeTextFileSync(world.envFile, "");
  assertEquals(world.session.status().state, "valid");
  assertEquals((await world.session.authFetch("/v1/whoami")).status, 200);
});

/**
 * Empties a file when a save is about to replace it, as an editor does before it writes. Pauses end
 * at once.
 *
 * @param fill Called each time the empty file is read.
 */
function emptying(path: string, fill: (reads: number) => void): Disposable {
  const { openSync, readFileSync } = Deno;
  const { setTimeout } = globalThis;
  let reads = -1;
  Deno.openSync = (file, options) => {
    if (String(file).endsWith(".tmp") && reads < 0) {
      Deno.writeTextFileSync(path, "");
      reads = 0;
    }
    return openSync(file, options);
  };
  Deno.readFileSync = (file) => {
    if (file === path && reads >= 0) fill(reads++);
    return readFileSync(file);
  };
  globalThis.setTimeout = ((end: () => void) => setTimeout(end, 0)) as typeof setTimeout;
  return {
    [Symbol.dispose]() {
      Object.assign(Deno, { openSync, readFileSync });
      globalThis.setTimeout = setTimeout;
    },
  };
}

const EDITORS = [
  ["and then writes the new text", 30, "edited"],
  ["and writes nothing", Infinity, "known"],
] as const;
for (const [howLong, written, left] of EDITORS) {
  Deno.test(`a refresh loses no setting if an editor empties the .env ${howLong}`, async () => {
    await using world = await signedIn({ file: true, sandbox: { rotateRefreshTokens: true } });
    const text = MINE + Deno.readTextFileSync(world.envFile) + "STATE=known\n";
    Deno.writeTextFileSync(world.envFile, text);
    {
      using _editor = emptying(world.envFile, (reads) => {
        const edited = text.replace("known", "edited");
        if (reads === written) Deno.writeTextFileSync(world.envFile, edited);
      });
      assertEquals((await world.session.refresh()).state, "valid");
    }
    const saved = Deno.readTextFileSync(world.envFile);
    assertEquals(saved.startsWith(MINE), true, "the user's lines");
    assertEquals(linesOf(world.envFile).STATE, left);
    // Another process has only the refresh token in the file.
    assertEquals((await world.another().refresh()).state, "valid");
    assertEquals(world.logins(), 1);
  });
}
