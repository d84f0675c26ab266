/** Suggests what was probably meant if a setting is missing or odd, for `doctor()` and `init`. */
import type { Advice } from "../errors/advice.ts";
import { editsBetween } from "../errors/closest.ts";
import { allVariables } from "../platform/environment.ts";
import { infoAt, mayRead } from "../platform/file_info.ts";
import { foldersUp, withoutSlash, workingFolder } from "../platform/paths.ts";
import { type EnvSnapshot, readEnvFile } from "./env_file.ts";
import { isOfAnotherUser, isProjectRoot, ownEnvFile } from "./env_location.ts";
import { hasRequired } from "./no_settings.ts";
import {
  ENV_FILE_VARIABLE,
  SETTING_NAMES,
  SETTING_RULES,
  type SettingName,
  VARIABLES,
} from "./options.ts";
import type { Settings } from "./settings.ts";

/** Returns all suggestions. */
export function suggestionsOn(settings: Settings): Advice[] {
  return [
    ...halfPair(settings),
    ...misspelled(settings),
    ...unusedFile(settings),
  ];
}

/** Returns the lines and variables that were probably meant as settings. */
export function misspelled(settings: Settings): Advice[] {
  return [...cutValues(settings), ...nearNames(settings), ...colonLines(settings)];
}

function halfPair(settings: Settings): Advice[] {
  const { unusedHalf: set } = settings;
  if (set === undefined) return [];
  const other = set === "username" ? "password" : "username";
  const isOnlyOne = settings.origin(other) !== undefined;
  return [{
    problem: `the environment has ${VARIABLES[set]}, which is used only together with ` +
      VARIABLES[other],
    fix: isOnlyOne && set === "username"
      ? [{ inProgram: "pass it as an option", inTerminal: "pass it with --username" }]
      : `also set ${VARIABLES[other]} in the environment`,
  }];
}

/**
 * Matches an unquoted value that ends at a `#`. The `#` may be part of a secret or begin a comment.
 */
const ENDS_AT_HASH =
  /^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*((?!["'`])[^#\r\n]*)#(\S?)/gm;

function cutValues(settings: Settings): Advice[] {
  const { file } = settings;
  const found = new Map<string, Advice>();
  for (const [, key = "", value = "", next = ""] of (file.text ?? "").matchAll(ENDS_AT_HASH)) {
    const about = SETTING_NAMES.find((name) => VARIABLES[name] === key);
    // A line within the value of another key is not an assignment, so it is skipped.
    if (about === undefined || file.values.get(key) !== value.trimEnd()) continue;
    if (![undefined, "file"].includes(settings.origin(about))) continue;
    const isApart = /\s$/.test(value) && value.trim() !== "";
    // After a blank, a # almost always begins a comment. Only secrets are reported in this case,
    // because a secret that was cut off is hard to notice.
    if (isApart ? !SETTING_RULES[about].secret : next === "" || /\s$/.test(value)) continue;
    found.set(key, {
      problem: `${key} in the .env ends before a #`,
      fix: "if the # belongs to the value, put the value in single quotes",
    });
  }
  return [...found.values()];
}

/**
 * Names that other tools use, reduced as by `plainName()`. They are looked for only in the `.env`.
 */
const LIKELY: Readonly<Record<string, SettingName>> = {
  CLIENTID: "clientId",
  CLIENTSECRET: "clientSecret",
  POOLID: "userPoolId",
  APIURL: "apiBaseUrl",
  BASEURL: "apiBaseUrl",
};

/** Matches a line of YAML, which is not an assignment in a `.env`. */
const COLON_LINE = /^[ \t]*([A-Za-z_]\w*)[ \t]*:[ \t]*\S/;

function colonLines(settings: Settings): Advice[] {
  const lines = (settings.file.text ?? "").split("\n");
  return lines.flatMap((line, at): Advice[] => {
    const key = COLON_LINE.exec(line)?.[1] ?? "";
    const about = SETTING_NAMES.find((name) => VARIABLES[name] === key) ?? LIKELY[plainName(key)];
    if (about === undefined || settings.origin(about) !== undefined) return [];
    return [{
      problem: `line ${at + 1} of the .env has a colon after ${key}, so it is not used`,
      fix: `write ${VARIABLES[about]}=…`,
    }];
  });
}

/**
 * Finds names that resemble the name of an unset setting. Underscores and case are ignored. In the
 * `.env`, up to two letters may differ; in the environment, which has many other names, all letters
 * must match.
 */
function nearNames(settings: Settings): Advice[] {
  const known: readonly string[] = Object.values(VARIABLES);
  const unset = SETTING_NAMES.filter((name) => settings.origin(name) === undefined)
    .map((name) => ({ name, plain: plainName(VARIABLES[name]) }));
  const places = [
    { place: "the .env", names: [...settings.file.values.keys()], most: 2 },
    { place: "the environment", names: allVariables(), most: 0 },
  ];
  const found = new Map<SettingName, Advice>();
  for (const { place, names, most } of places) {
    for (const given of names) {
      if (known.includes(given)) continue;
      const plain = plainName(given);
      const about = unset.find((each) =>
        plain === each.plain ||
        (most > 0 && (LIKELY[plain] === each.name || editsBetween(plain, each.plain) <= most))
      )?.name;
      if (about === undefined || found.has(about)) continue;
      found.set(about, {
        problem: `${place} has ${given}, which is not a setting (did you mean ${
          VARIABLES[about]
        }?)`,
        fix: "correct the name",
      });
    }
  }
  return [...found.values()];
}

function plainName(name: string): string {
  return name.toUpperCase().replace(/[^A-Z0-9]/g, "");
}

/** Finds a `.env` with settings that is not used here, if required settings are missing. */
function unusedFile(settings: Settings): Advice[] {
  const { file, location: { path, kind, searched } } = settings;
  if (kind === "named" || hasRequired(settings) || hasSettings(file)) return [];
  const other = otherFiles().find((each) => each !== path && hasSettings(readEnvFile(each)));
  if (other === undefined) return [];
  const why = kind === "new" ? whyNotSearched(searched) : `${path} is nearer`;
  return [{
    problem: `${other} has settings, but is not used here: ${why}`,
    fix: ["to use it, ", {
      inProgram: `set ${ENV_FILE_VARIABLE} to its path`,
      inTerminal: `pass it with --env-file, or set ${ENV_FILE_VARIABLE} to its path`,
    }],
  }];
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
