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
