/**
 * Reads settings from the environment. A container mounts a secret as a file, so for a setting that
 * is secret, a variable such as `PASSWORD_FILE` may contain the path of a file with the value.
 */
import { systemWords } from "../errors/cause.ts";
import { ConfigError, throwIfBug } from "../errors/errors.ts";
import { environment } from "../platform/environment.ts";
import { infoAt } from "../files/file_info.ts";
import { SETTING_NAMES, SETTING_RULES, type SettingName, VARIABLES } from "./options.ts";
import { utf8Text, whyUnreadable } from "./text_file.ts";

/** The variables with the path of a file that contains a secret. */
export const FILE_VARIABLES: readonly string[] = SETTING_NAMES
  .filter((name) => SETTING_RULES[name].secret).map(fileVariable);

function fileVariable(name: SettingName): string {
  return `${VARIABLES[name]}_FILE`;
}

/**
 * The environment variable of a setting, such as `PASSWORD`. For a secret whose file variable is set,
 * returns that one, such as `PASSWORD_FILE`.
 */
export function variableOf(name: SettingName): string {
  const inFile = fileVariable(name);
  return SETTING_RULES[name].secret && environment(inFile) ? inFile : VARIABLES[name];
}

/**
 * The files with secrets that the environment specifies. A text that is not the path of a file may
 * be a password that was set in the wrong variable, and must not be shown.
 */
export function secretFiles(): string[] {
  return FILE_VARIABLES.flatMap((variable) => environment(variable) || []).filter((path) =>
    infoAt(path)
  );
}

/**
 * Returns the value of a setting in the environment.
 *
 * @throws {ConfigError} `INVALID_SETTING` if the file with the value cannot be used, or if the
 * variable with the value is set as well; `PERMISSION` if the file may not be read.
 */
export function settingInEnvironment(name: SettingName): string | undefined {
  const value = environment(VARIABLES[name]);
  const variable = variableOf(name);
  if (variable === VARIABLES[name]) return value;
  if (value) {
    throw new ConfigError(
      "INVALID_SETTING",
      `Cannot use ${variable}: ${VARIABLES[name]} is set as well`,
      `unset ${VARIABLES[name]} or ${variable}`,
    );
  }
  return secretIn(environment(variable) ?? "", variable);
}

function secretIn(path: string, variable: string): string {
  // The path is not quoted, because it may be a password that was set in the wrong variable.
  const refusal = (why: string) =>
    new ConfigError(
      "INVALID_SETTING",
      `Cannot use the file in ${variable}: ${why}`,
      `set ${variable} to the path of a text file that contains only the value`,
    );
  try {
    const why = whyUnreadable(Deno.statSync(path));
    if (why !== undefined) throw refusal(why);
    const text = utf8Text(Deno.readFileSync(path))?.replace(/^\ufeff/, "");
    if (text === undefined) throw refusal("it is not UTF-8 text");
    if (text.trim() === "") throw refusal("it is empty");
    return text;
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throwIfBug(error);
    if (error instanceof Deno.errors.NotCapable) {
      throw new ConfigError(
        "PERMISSION",
        `Cannot read the file in ${variable}: the permission is missing`,
        "add its folder to --allow-read",
      );
    }
    throw refusal(systemWords(error) ?? "the system refused it");
  }
}
