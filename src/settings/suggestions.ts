/**
 * Suggests what was probably meant if a setting is missing or odd. A successful login does not need
 * this file; only `doctor()` and the error for missing settings load it.
 */
import type { Advice, Fix } from "../errors/advice.ts";
import { editsBetween } from "../errors/closest.ts";
import { allVariables } from "../platform/environment.ts";
import { whyNoSettings } from "./no_settings.ts";
import { SETTING_NAMES, SETTING_RULES, type SettingName, VARIABLES } from "./options.ts";
import type { Settings } from "./settings.ts";

/** A guess at what the user meant by a setting. */
export interface Suggestion extends Advice {
  /** The setting; `undefined` if the guess concerns all settings. */
  readonly about?: SettingName;
  readonly fix: Fix;
}

/** Returns all suggestions, for the doctor. */
export function suggestionsOn(settings: Settings): Suggestion[] {
  const { unusedHalf } = settings;
  const unfound = whyNoSettings(settings);
  return [
    ...(unusedHalf === undefined ? [] : [halfPair(unusedHalf, settings)]),
    ...cutValues(settings),
    ...nearNames(settings),
    ...colonLines(settings),
    ...(unfound === undefined ? [] : [unfound]),
  ];
}

/** Returns the suggestions that can explain why these settings are missing. */
export function suggestionsFor(
  settings: Settings,
  missing: readonly SettingName[],
): Suggestion[] {
  return suggestionsOn(settings).filter(({ about }) =>
    about === undefined || missing.includes(about)
  );
}

function halfPair(set: "username" | "password", settings: Settings): Suggestion {
  const other = set === "username" ? "password" : "username";
  const isOnlyOne = settings.origin(other) !== undefined;
  return {
    about: isOnlyOne ? set : other,
    problem: `the environment has ${VARIABLES[set]}, which is used only together with ` +
      VARIABLES[other],
    fix: isOnlyOne && set === "username"
      ? [{ inProgram: "pass it as an option", inTerminal: "pass it with --username" }]
      : `also set ${VARIABLES[other]} in the environment`,
  };
}

/**
 * Matches an unquoted value that ends at a `#`. The `#` may be part of a secret or begin a comment.
 */
const ENDS_AT_HASH =
  /^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*((?!["'`])[^#\r\n]*)#(\S?)/gm;

function cutValues(settings: Settings): Suggestion[] {
  const { file } = settings;
  const found = new Map<string, Suggestion>();
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
      about,
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

function colonLines(settings: Settings): Suggestion[] {
  const lines = (settings.file.text ?? "").split("\n");
  return lines.flatMap((line, at): Suggestion[] => {
    const key = COLON_LINE.exec(line)?.[1] ?? "";
    const about = SETTING_NAMES.find((name) => VARIABLES[name] === key) ?? LIKELY[plainName(key)];
    if (about === undefined || settings.origin(about) !== undefined) return [];
    return [{
      about,
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
function nearNames(settings: Settings): Suggestion[] {
  const known: readonly string[] = Object.values(VARIABLES);
  const unset = SETTING_NAMES.filter((name) => settings.origin(name) === undefined)
    .map((name) => ({ name, plain: plainName(VARIABLES[name]) }));
  const places = [
    { place: "the .env", names: [...settings.file.values.keys()], most: 2 },
    { place: "the environment", names: allVariables(), most: 0 },
  ];
  const found = new Map<SettingName, Suggestion>();
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
        about,
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
