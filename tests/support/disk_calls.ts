/** The functions of the runtime that access the disk. */
const KINDS = {
  reads: ["readFileSync", "readTextFileSync", "readFile", "readTextFile"],
  stats: ["lstatSync", "statSync", "lstat", "stat"],
  realPaths: ["realPathSync", "realPath"],
} as const;

type Counts = Record<keyof typeof KINDS | "permissions", number>;

/** Counts the disk accesses and permission queries during the work. */
export async function diskCalls(work: () => unknown): Promise<Counts> {
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
