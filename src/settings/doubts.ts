import type { EnvSnapshot } from "./env_file.ts";
import type { Advice } from "./env_location.ts";
import { endedByHash } from "./env_parser.ts";
import { allVariables, environment } from "../platform/environment.ts";
import { editsBetween } from "../errors/closest.ts";
import { SETTING_NAMES, type SettingName, SETTINGS, VARIABLES } from "./options.ts";

/** Something that was probably meant as a setting, or as more of one than was read. */
export interface Doubt extends Advice {
  readonly about: SettingName;
  /** Whether a login asks and sends nothing before it is settled. */
  readonly stopsLogin: boolean;
}

/** Where the value of a setting came from; `undefined`: it is not set. */
type OriginOf = (name: SettingName) => string | undefined;

/** The doubts about settings: half a pair, values that end too early, names that are nearly right. */
export function doubtsAbout(file: EnvSnapshot, originOf: OriginOf): Doubt[] {
  return [
    ...halfPair(originOf),
    ...cutValues(file, originOf),
    ...nearNames(file, originOf),
  ];
}

/** Some shells set USERNAME by themselves, so only a password alone is a half of something. */
function halfPair(originOf: OriginOf): Doubt[] {
  const { username, password } = VARIABLES;
  const isHalf = environment(password) && !environment(username);
  if (!isHalf || originOf("password") !== undefined) return [];
  return [{
    about: "password",
    stopsLogin: false,
    problem: `${password} is not used, because the environment has no ${username}: ` +
      "the pair is incomplete",
    fix: `set ${username} there, too`,
  }];
}

function cutValues({ text = "", values }: EnvSnapshot, originOf: OriginOf): Doubt[] {
  const { cut } = endedByHash(text, values);
  const counts = ["file", undefined];
  return SETTING_NAMES.filter((name) =>
    cut.includes(VARIABLES[name]) && counts.includes(originOf(name))
  )
    .map((about) => ({
      about,
      stopsLogin: true,
      problem: `${VARIABLES[about]} in the .env ends at a # that is not in quotes`,
      fix: "put its value in single quotes, or a blank before the # of a comment",
    }));
}

/**
 * Secrets of the `.env` with a comment behind them that may be a part of them. Often it is a comment, so
 * it is told by the doctor, and where the provider refuses the secret.
 */
export function commentedSecrets({ text = "", values }: EnvSnapshot, originOf: OriginOf): Doubt[] {
  const { commented } = endedByHash(text, values);
  return SETTING_NAMES.filter((name) =>
    SETTINGS[name].secret && originOf(name) === "file" && commented.includes(VARIABLES[name])
  )
    .map((about) => ({
      about,
      stopsLogin: false,
      problem: `${VARIABLES[about]} in the .env ends before " #"`,
      fix: "if the # belongs to it, put it in single quotes",
    }));
}

/**
 * Names that differ from an unset setting's by an underscore, by case or, in the `.env`, by one letter.
 * The environment has many names that are not ours.
 */
function nearNames({ values }: EnvSnapshot, originOf: OriginOf): Doubt[] {
  const known: readonly string[] = Object.values(VARIABLES);
  const unset = SETTING_NAMES.filter((name) => originOf(name) === undefined)
    .map((name) => ({ name, plain: plainName(VARIABLES[name]) }));
  const places = [
    { place: "the .env", names: [...values.keys()], most: 1 },
    { place: "the environment", names: allVariables(), most: 0 },
  ];
  const found = new Map<SettingName, Doubt>();
  for (const { place, names, most } of places) {
    for (const given of names) {
      if (known.includes(given)) continue;
      const plain = plainName(given);
      const about = unset.find((each) =>
        plain === each.plain || (most > 0 && editsBetween(plain, each.plain) <= most)
      )?.name;
      if (about === undefined || found.has(about)) continue;
      found.set(about, {
        about,
        stopsLogin: isNeeded(about, originOf),
        problem: `${place} has ${given}, which is no setting (did you mean ${VARIABLES[about]}?)`,
        fix: "correct the name",
      });
    }
  }
  return [...found.values()];
}

/** Other settings have a default or are asked for, and other programs have similar names. */
function isNeeded(name: SettingName, originOf: OriginOf): boolean {
  if (name === "authUrl") return originOf("region") === undefined;
  return name === "apiBaseUrl" || SETTINGS[name].required === true;
}

function plainName(name: string): string {
  return name.toUpperCase().replace(/[^A-Z0-9]/g, "");
}
