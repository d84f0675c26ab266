/**
 * Environments that tests make up. The variables of a process belong to all test files that run in it
 * side by side, so these exist for one file only: in `Deno.env`, and for the programs that it starts.
 */

// There, http_proxy and HTTP_PROXY are one variable.
const keyOf = (name: string) => Deno.build.os === "windows" ? name.toUpperCase() : name;

/** Runs with these variables set (`undefined`: unset); afterwards all are as they were. */
export async function withEnvironment<T>(
  given: Record<string, string | undefined>,
  work: () => T | Promise<T>,
): Promise<T> {
  const before = { ...Deno.env };
  const { Command } = Deno;
  const variables = new Map(
    Object.entries(before.toObject()).map(([name, value]) => [keyOf(name), value]),
  );
  // Removed first: of two spellings of one variable the one with a value counts.
  for (const name of Object.keys(given)) variables.delete(keyOf(name));
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined) variables.set(keyOf(name), value);
  }
  Object.assign(Deno.env, {
    get: (name: string) => variables.get(keyOf(name)),
    has: (name: string) => variables.has(keyOf(name)),
    set: (name: string, value: string) => void variables.set(keyOf(name), value),
    delete: (name: string) => void variables.delete(keyOf(name)),
    toObject: () => Object.fromEntries(variables),
  });
  Reflect.set(
    Deno,
    "Command",
    class extends Command {
      constructor(command: string | URL, options: Deno.CommandOptions = {}) {
        const inherited = options.clearEnv ? {} : Object.fromEntries(variables);
        super(command, { ...options, clearEnv: true, env: { ...inherited, ...options.env } });
      }
    },
  );
  try {
    return await work();
  } finally {
    Object.assign(Deno.env, before);
    Reflect.set(Deno, "Command", Command);
  }
}
