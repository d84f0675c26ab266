/** What a refresh asks of the disk: a home folder on a network pays for each of these calls. */
import { assert, assertEquals } from "@std/assert";
import { portless } from "../support/portless.ts";

const KINDS = {
  reads: ["readFileSync", "readTextFileSync", "readFile", "readTextFile"],
  stats: ["lstatSync", "statSync", "lstat", "stat"],
  realPaths: ["realPathSync", "realPath"],
} as const;

type Counts = Record<keyof typeof KINDS | "permissions", number>;

/** Counts the calls that this module makes of the runtime while it works. */
async function counted(work: () => Promise<unknown>): Promise<Counts> {
  const counts: Counts = { reads: 0, stats: 0, realPaths: 0, permissions: 0 };
  const restore: (() => void)[] = [];
  const count = (owner: object, name: string, kind: keyof Counts) => {
    const real = Reflect.get(owner, name);
    Reflect.set(owner, name, function (this: unknown, ...args: unknown[]) {
      counts[kind]++;
      return Reflect.apply(real, this, args);
    });
    restore.push(() => Reflect.set(owner, name, real));
  };
  for (const [kind, names] of Object.entries(KINDS)) {
    for (const name of names) count(Deno, name, kind as keyof typeof KINDS);
  }
  for (const name of ["stat", "statSync"]) count(Deno.FsFile.prototype, name, "stats");
  for (const name of ["query", "querySync"]) count(Deno.permissions, name, "permissions");
  try {
    await work();
  } finally {
    for (const each of restore) each();
  }
  return counts;
}

Deno.test("a refresh of an expired session asks the disk for little", async () => {
  await using world = portless({ file: true });
  await world.session.login();
  world.clock.advance(3_000);
  const counts = await counted(() => world.session.accessToken());
  assertEquals(world.refreshes(), 1);
  assert(counts.reads <= 4, `${counts.reads} reads`);
  assert(counts.stats <= 8, `${counts.stats} stats`);
  assert(counts.realPaths <= 2, `${counts.realPaths} real paths`);
  assert(counts.permissions <= 8, `${counts.permissions} permission queries`);
  // The counting counts.
  assert(counts.reads > 0 && counts.stats > 0 && counts.permissions > 0);
});

Deno.test("a call with a good token asks the disk for nothing", async () => {
  await using world = portless({ file: true });
  await world.session.login();
  // The first call asks which proxies are named.
  await world.session.authFetch("/v1/whoami");
  const counts = await counted(async () => {
    await world.session.accessToken();
    await world.session.authFetch("/v1/whoami");
    await world.session.authFetch("/v1/whoami");
  });
  assertEquals(counts, { reads: 0, stats: 0, realPaths: 0, permissions: 0 });
});
