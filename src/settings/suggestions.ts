/** Suggests what was probably meant if a setting is missing or odd, for `doctor()` and `init`. */
import type { Advice } from "../errors/advice.ts";
import { editsBetween } from "../errors/closest.ts";
import { SETTING_NAMES, SETTING_RULES, type SettingName, VARIABLES } from "./options.ts";
import type { Settings } from "./settings.ts";

/** Returns all suggestions. */
export function suggestionsOn(settings: Settings): Advice[] {
  const { unusedHalf } = settings;
  return [...(unusedHalf ? [unusedHalf] : []), ...misspelled(settings)];
}

/** Returns the lines that were probably meant as settings. */
export function misspelled(settings: Settings): Advice[] {
  return [...cutValues(settings), ...nearNames(settings), ...colonLines(settings)];
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
 * Names that other tools use, reduced as by `plainName()`.
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
 * Finds names in the `.env` that resemble the name of an unset setting: without underscores and case,
 * up to two letters may differ.
 */
function nearNames(settings: Settings): Advice[] {
  const known: readonly string[] = Object.values(VARIABLES);
  const unset = SETTING_NAMES.filter((name) => settings.origin(name) === undefined);
  const found = new Map<SettingName, Advice>();
  for (const given of settings.file.values.keys()) {
    if (known.includes(given)) continue;
    const plain = plainName(given);
    const about = unset.find((name) =>
      LIKELY[plain] === name || editsBetween(plain, plainName(VARIABLES[name])) <= 2
    );
    if (about === undefined || found.has(about)) continue;
    const problem = `the .env has ${given}, which is not a setting (did you mean ${
      VARIABLES[about]
    }?)`;
    found.set(about, { problem, fix: "correct the name" });
  }
  return [...found.values()];
}

function plainName(name: string): string {
  return name.toUpperCase().replace(/[^A-Z0-9]/g, "");
}
