/**
 * Environments that tests invent. All test files run in one process and share its variables, so an
 * invented environment exists only in one file's `Deno.env`, and for the programs that the file starts.
 */

// On Windows, http_proxy and HTTP_PROXY are the same variable.
const keyOf = (name: string) => Deno.build.os === "windows" ? name.toUpperCase() : name;

/** Runs `work` with these variables set (`undefined`: unset), and then restores all variables. */
export async function withEnvironment<T>(
  given: Record<string, string | undefined>,
  work: () => T | Promise<T>,
): Promise<T> {
  const before = { ...Deno.env };
  const { Command } = Deno;
  const variables = new Map(
    Object.entries(before.toObject()).map(([name, value]) => [keyOf(name), value]),
  );
  // All are removed first: if a variable is given in two spellings, the one with a value is set.
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

/** Runs `work` with these variables and no others. */
export function withOnly<T>(
  given: Record<string, string | undefined>,
  work: () => T | Promise<T>,
): Promise<T> {
  const unset = Object.keys(Deno.env.toObject()).map((name) => [name, undefined]);
  return withEnvironment({ ...Object.fromEntries(unset), ...given }, work);
}
