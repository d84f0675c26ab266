/**
 * Reads a variable of the process environment. Returns `undefined` if the variable is not set, or
 * if reading it would need a permission prompt.
 */
export function environment(name: string): string | undefined {
  return mayUseVariable(name) ? Deno.env.get(name) : undefined;
}

/** The variables that this process has set, with their values. */
const own = new Map<string, string>();
/** The values that this process has replaced. */
const replaced = new Map<string, string | undefined>();

/**
 * Sets a variable, or removes the variable if the text is empty. Does nothing if the change would
 * need a permission prompt.
 */
export function setVariable(name: string, text: string): void {
  if (!mayUseVariable(name)) return;
  const before = environment(name);
  if (before !== own.get(name)) replaced.set(name, before);
  if (text === "") {
    own.delete(name);
    return Deno.env.delete(name);
  }
  own.set(name, text);
  Deno.env.set(name, text);
}

/** Reads a variable. Returns `undefined` if this process has set the current value. */
export function foreignVariable(name: string): string | undefined {
  const text = environment(name);
  return text === own.get(name) ? undefined : text;
}

/** Reads the value that a variable had before this process set it. */
export function inheritedVariable(name: string): string | undefined {
  const text = environment(name);
  return text === own.get(name) ? replaced.get(name) : text;
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
