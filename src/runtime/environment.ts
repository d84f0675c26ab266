/**
 * What Deno and the machine give: environment, paths, transport, prompts, Stop. May import values.
 *
 * The environment is read only where no permission prompt would come up.
 */

/** A variable of the process environment; `undefined` if unset, or if reading it needs a permission that is not there. */
export function environment(name: string): string | undefined {
  return mayUseVariable(name) ? Deno.env.get(name) : undefined;
}

/** Whether a variable may be read and set without a permission prompt. */
export function mayUseVariable(name: string): boolean {
  return Deno.permissions.querySync({ name: "env", variable: name }).state === "granted";
}
