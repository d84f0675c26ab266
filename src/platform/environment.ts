/**
 * Reads a variable of the process environment. Returns `undefined` if the variable is not set, or
 * if reading it would need a permission prompt.
 */
export function environment(name: string): string | undefined {
  return mayUseVariable(name) ? Deno.env.get(name) : undefined;
}

/** A variable that this process has set or removed. */
interface Change {
  /** The value; `undefined` if the variable was removed. */
  readonly value: string | undefined;
  /** The value before the change. */
  readonly replaced: string | undefined;
}

const changes = new Map<string, Change>();

/**
 * Sets a variable, or removes the variable if the text is empty. Does nothing if the change would
 * need a permission prompt.
 */
export function setVariable(name: string, text: string): void {
  if (!mayUseVariable(name)) return;
  const replaced = inheritedVariable(name);
  changes.set(name, { value: text || undefined, replaced });
  if (text === "") Deno.env.delete(name);
  else Deno.env.set(name, text);
}

/** Reads a variable. Returns `undefined` if this process has set the current value. */
export function foreignVariable(name: string): string | undefined {
  const text = environment(name);
  return text === changes.get(name)?.value ? undefined : text;
}

/** Reads the value that a variable had before this process set it. */
export function inheritedVariable(name: string): string | undefined {
  const text = environment(name);
  const change = changes.get(name);
  return change !== undefined && text === change.value ? change.replaced : text;
}

/** Whether a variable may be read and set without a permission prompt. */
export function mayUseVariable(name: string): boolean {
  return Deno.permissions.querySync({ name: "env", variable: name }).state === "granted";
}
