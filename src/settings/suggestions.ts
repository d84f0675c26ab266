/** Suggests what was probably meant if a setting is missing or odd, for `doctor()`. */
import type { Advice } from "../errors/advice.ts";
import { closest } from "../errors/closest.ts";
import { SETTING_NAMES, SETTING_RULES, VARIABLES } from "./options.ts";
import type { Settings } from "./settings.ts";

/** Returns all suggestions. */
export function suggestionsOn(settings: Settings): Advice[] {
  const { file: { text = "" }, unusedHalf } = settings;
  const lines = text.split("\n");
  return [
    ...(unusedHalf ? [unusedHalf] : []),
    ...lines.flatMap((line, at) => onLine(line, at + 1, settings)),
  ];
}

/** Matches `NAME=`, and also `NAME:`, as in YAML. A line with `NAME:` sets nothing. */
const NAME = /^\s*(?:export\s+)?(\w+)\s*([=:])\s*/;

function onLine(line: string, number: number, settings: Settings): Advice[] {
  const [start = "", given = "", sign = ""] = NAME.exec(line) ?? [];
  const known = SETTING_NAMES.find((name) => VARIABLES[name] === given);
  if (known !== undefined && sign === "=") {
    // A # with a blank after it begins a comment. Any other # may belong to the secret.
    const isCut = SETTING_RULES[known].secret && /^[^"'`#]*#\S/.test(line.slice(start.length));
    return !isCut ? [] : [{
      problem: `the value of ${given} in the .env ends before a #`,
      fix: "if the # belongs to the value, put the value in single quotes",
    }];
  }
  const unset = SETTING_NAMES.filter((name) => settings.origin(name) === undefined);
  const meant = closest(given, unset.map((name) => VARIABLES[name]));
  return meant === undefined ? [] : [{
    problem: `line ${number} of the .env sets nothing, because it begins with ${given}${sign}`,
    fix: `write ${meant}=…`,
  }];
}
