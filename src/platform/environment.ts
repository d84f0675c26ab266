/**
 * A variable of the process environment; `undefined` if unset, or if reading it needs a permission
 * prompt.
 */
export function environment(name: string): string | undefined {
  return mayUseVariable(name) ? Deno.env.get(name) : undefined;
}

/** The names of all variables; none if reading them needs a permission prompt. */
export function allVariables(): string[] {
  const { state } = Deno.permissions.querySync({ name: "env" });
  return state === "granted" ? Object.keys(Deno.env.toObject()) : [];
}

/** Whether a variable may be read and set without a permission prompt. */
export function mayUseVariable(name: string): boolean {
  return Deno.permissions.querySync({ name: "env", variable: name }).state === "granted";
}

/** The built-in modules of Node that are used. */
interface NodeModules {
  readonly "node:fs": typeof import("node:fs");
  readonly "node:util": typeof import("node:util");
}

/**
 * A built-in module of Node, loaded synchronously on demand, because the first one delays the start by
 * 6 to 13 ms.
 */
export function nodeModule<Name extends keyof NodeModules>(name: Name): NodeModules[Name] {
  const { process } = globalThis as unknown as {
    process: { getBuiltinModule(name: Name): NodeModules[Name] };
  };
  return process.getBuiltinModule(name);
}
