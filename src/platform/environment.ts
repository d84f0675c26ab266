/**
 * Reads a variable of the process environment. Returns `undefined` if it is not set, or if reading
 * it would need a permission prompt.
 */
export function environment(name: string): string | undefined {
  return mayUseVariable(name) ? Deno.env.get(name) : undefined;
}

/** Lists all variables by name, or none if reading them would need a permission prompt. */
export function allVariables(): string[] {
  const { state } = Deno.permissions.querySync({ name: "env" });
  return state === "granted" ? Object.keys(Deno.env.toObject()) : [];
}

/** Whether a variable may be read and set without a permission prompt. */
export function mayUseVariable(name: string): boolean {
  return Deno.permissions.querySync({ name: "env", variable: name }).state === "granted";
}
