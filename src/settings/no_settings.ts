/** Says where a `.env` was looked for, for a call that finds neither settings nor a session. */
import { type Advice, commandOr, type Fix, fixText, inKernel } from "../errors/advice.ts";
import { mayRead } from "../files/file_info.ts";
import { folderOf, withoutSlash } from "../files/paths.ts";
import { ownEnvFile, searchAbove } from "./env_location.ts";
import { ENV_FILE_VARIABLE, SETTING_NAMES, SETTING_RULES } from "./options.ts";
import type { Settings } from "./settings.ts";

/**
 * Says that a `.env` of another user is ignored, that the specified `.env` does not exist, or which
 * folders have no `.env`; `undefined` if there is a file, or if the required settings are set.
 */
export function whyNoSettings(settings: Settings): (Advice & { readonly fix: Fix }) | undefined {
  const { file, foreignFiles: [foreign], location: { path, kind, searched }, tokenFile } = settings;
  if (foreign) return foreign;
  if (path === undefined || file.exists || tokenFile === undefined) return undefined;
  const required = SETTING_NAMES.filter((name) => SETTING_RULES[name].required);
  if (required.every((name) => settings.origin(name) !== undefined)) return undefined;
  if (kind !== "named") return nothingFound(searched);
  const problem = `${path} was specified as the .env file, but it does not exist`;
  return { problem, fix: "check the path" };
}

/** Returns the fix for a call that finds neither settings nor a session. */
export function loginAfter({ fix }: { readonly fix: Fix }): Fix {
  return [fixText(fix), ", then run ", { call: "login" }, ". A portal string needs no settings"];
}

/** Says which folders were searched, and for which ones the permission is missing. */
function nothingFound(searched: readonly string[]): Advice & { readonly fix: Fix } {
  const [here = ""] = searched;
  const own = ownEnvFile();
  const folders = [...searched, searchAbove(here).unreadable, own && folderOf(own)]
    .filter((folder) => folder !== undefined).map(withoutSlash);
  const unreadable = folders.filter((folder) => !mayRead(folder)).join();
  const further = unreadable &&
    `; the search stopped because --allow-read=${unreadable} is missing`;
  const problem = `no .env was found in ${folders.filter(mayRead).join(", ")}${further}`;
  if (inKernel()) {
    const init = commandOr(
      "run platform-auth init, or platform-auth init --global for all folders",
      "write a .env as described in docs/settings.md",
    );
    return { problem, fix: `run the first cell of this notebook; for your own account, ${init}` };
  }
  const file = { inProgram: `in ${ENV_FILE_VARIABLE}`, inTerminal: "with --env-file" };
  return {
    problem,
    fix: ["run platform-auth init, or specify a file ", file],
  };
}
