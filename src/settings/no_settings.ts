/** Says why no settings were found, for a call that finds neither settings nor a session. */
import { type Advice, type Fix, fixText } from "../errors/advice.ts";
import { infoAt, mayRead } from "../platform/file_info.ts";
import { folderOf, foldersUp, workingFolder } from "../platform/paths.ts";
import { type EnvSnapshot, readEnvFile } from "./env_file.ts";
import { isOfAnotherUser, isProjectRoot, ownEnvFile, searchAbove } from "./env_location.ts";
import { ENV_FILE_VARIABLE, SETTING_NAMES, SETTING_RULES, VARIABLES } from "./options.ts";
import type { Settings } from "./settings.ts";

/**
 * Returns the first of these reasons that applies: a `.env` of another user is ignored; the
 * specified `.env` does not exist; another `.env` has settings, but is not used; no `.env` was
 * found. Returns `undefined` if no reason applies: for example, because the required settings are
 * set.
 */
export function whyNoSettings(settings: Settings): (Advice & { readonly fix: Fix }) | undefined {
  const { file, foreignFiles: [foreign], location: { path, kind, searched } } = settings;
  const isComplete = SETTING_NAMES.every((name) =>
    !SETTING_RULES[name].required || settings.origin(name) !== undefined
  );
  if (foreign) return foreign;
  if (path === undefined || isComplete || settings.tokenFile === undefined) return undefined;
  if (kind === "named") {
    if (file.exists) return undefined;
    const problem = `${path} was specified as the .env file, but it does not exist`;
    return { problem, fix: "check the path" };
  }
  if (hasSettings(file)) return undefined;
  const other = otherFiles().find((each) => each !== path && hasSettings(readEnvFile(each)));
  if (other !== undefined) {
    const why = kind === "new" ? whyNotSearched(searched) : `${path} is nearer`;
    return {
      problem: `${other} has settings, but is not used here: ${why}`,
      fix: ["to use it, ", {
        inProgram: `set ${ENV_FILE_VARIABLE} to its path`,
        inTerminal: `pass it with --env-file, or set ${ENV_FILE_VARIABLE} to its path`,
      }],
    };
  }
  if (file.exists) return undefined;
  return nothingFound(searched);
}

/** Returns the fix for a call that finds neither settings nor a session. */
export function loginAfter({ fix }: { readonly fix: Fix }): Fix {
  return [fixText(fix), ", then run ", { call: "login" }, " (a portal string needs no settings)"];
}

/** Whether a file has settings that other programs do not use. */
function hasSettings({ values }: EnvSnapshot): boolean {
  return SETTING_NAMES.some((name) =>
    name !== "username" && name !== "password" && values.has(VARIABLES[name])
  );
}

/**
 * Lists the `.env` files above the working folder, even above the project root, and the user's own.
 */
function otherFiles(): string[] {
  const above = [...foldersUp(workingFolder() ?? "/")].slice(1).map((folder) => `${folder}.env`);
  return [...above, ownEnvFile()].filter((path) => path !== undefined)
    // A file that Deno would prompt for is skipped: a suggestion is not worth a permission prompt.
    .filter(mayRead)
    .filter((path) => {
      const info = infoAt(path);
      return info?.isFile === true && !isOfAnotherUser(info);
    });
}

function whyNotSearched(searched: readonly string[]): string {
  const last = searched.at(-1) ?? "";
  return isProjectRoot(last)
    ? `it is above the project root ${withoutSlash(last)}`
    : "no folder from here up is a project root, with .git or deno.json";
}

/** Says which folders were searched, and for which ones the permission is missing. */
function nothingFound(searched: readonly string[]): Advice & { readonly fix: Fix } {
  const own = ownEnvFile();
  const ownFolder = own === undefined ? [] : [folderOf(own)];
  const mayReadOwn = own !== undefined && mayRead(own);
  const [here = ""] = searched;
  const { unreadable: end } = searchAbove(here);
  // For the working folder, the error of its `.env` names the flag.
  const isCutOff = end !== undefined && end !== here;
  const folders = [...searched, ...(mayReadOwn ? ownFolder : [])].map(withoutSlash);
  const unreadable = [...(isCutOff ? [end] : []), ...(mayReadOwn ? [] : ownFolder)];
  const problem = `no .env was found in ${folders.join(", ")}`;
  const file = { inProgram: `in ${ENV_FILE_VARIABLE}`, inTerminal: "with --env-file" };
  if (unreadable.length === 0) {
    return { problem, fix: ["run platform-auth init, or name a file ", file] };
  }
  const flag = `--allow-read=${unreadable.map(withoutSlash).join()}`;
  return {
    problem: `${problem}, and ${flag} is missing to search further`,
    fix: [
      `add ${flag} if the .env is there; otherwise, run platform-auth init, or name a file `,
      file,
    ],
  };
}

function withoutSlash(folder: string): string {
  return folder.replace(/(?<=[^:])[\\/]$/, "");
}
