import type { Command, Program } from "./command.ts";

/** All commands, in the order of the help. Only the file of the one that runs is loaded. */
export const COMMANDS: Readonly<Record<string, () => Promise<{ command: Command | Program }>>> = {
  "init": () => import("./commands/init.ts"),
  "login": () => import("./commands/login.ts"),
  "status": () => import("./commands/status.ts"),
  "token": () => import("./commands/token.ts"),
  "fetch": () => import("./commands/fetch.ts"),
  "refresh": () => import("./commands/refresh.ts"),
  "logout": () => import("./commands/logout.ts"),
  "doctor": () => import("./commands/doctor.ts"),
  "notebook": () => import("./commands/notebook.ts"),
  "explain": () => import("./commands/explain.ts"),
  "store-key": () => import("./commands/store_key.ts"),
  "sandbox": () => import("./commands/sandbox.ts"),
};

/** A command by its name; `undefined` if there is none. */
export async function commandNamed(name: string): Promise<Command | Program | undefined> {
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  return (await load?.())?.command;
}

/** All commands by their names. */
export async function allCommands(): Promise<Map<string, Command | Program>> {
  const all = Object.entries(COMMANDS)
    .map(async ([name, load]) => [name, (await load()).command] as const);
  return new Map(await Promise.all(all));
}
