/** Every setting is documented. For a new one, these tests list the entries that are missing. */
import { assertEquals } from "@std/assert";
import {
  ENV_FILE_VARIABLE,
  SETTING_NAMES,
  SETTING_RULES,
  VARIABLES,
} from "../../src/settings/options.ts";
import { LOG_VARIABLE } from "../../src/platform/log.ts";
import { documentText } from "../support/documented_flags.ts";

/** The words between backticks. */
function quoted(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, word = ""]) => word);
}

/** The rows of the table of settings: options, variables, and the remark in parentheses. */
function settingRows(): { options: string[]; variables: string[]; remark: string }[] {
  const [table = ""] = documentText("docs/settings.md").split(/^## /m);
  return [...table.matchAll(/^\| (`[^|]*`) +\| ([^|]*) \|/gm)]
    .map(([, options = "", variables = ""]) => ({
      options: quoted(options),
      variables: quoted(variables.replace(/\(.*\)/, "")),
      remark: /\((.*)\)/.exec(variables)?.[1] ?? "",
    }));
}

/** Fails with the items that are missing or not expected. */
function assertSame(found: readonly string[], wanted: readonly string[], where: string): void {
  assertEquals(wanted.filter((each) => !found.includes(each)), [], `missing in ${where}`);
  assertEquals(found.filter((each) => !wanted.includes(each)), [], `not expected in ${where}`);
}

const OF_FILE = SETTING_NAMES.filter((name) => !SETTING_RULES[name].notInFile);

Deno.test("docs/settings.md lists exactly the settings that exist, with their variables", () => {
  const listed = settingRows().flatMap(({ options, variables }) =>
    options.map((option, index) => `${option} ${variables[index] ?? "without a variable"}`)
  );
  const wanted = SETTING_NAMES.map((name) => `${name} ${VARIABLES[name]}`);
  const others = [
    `envFile ${ENV_FILE_VARIABLE}`,
    "exportEnv without a variable",
    "token without a variable",
    `log ${LOG_VARIABLE}`,
  ];
  assertSame(listed, [...wanted, ...others], "the table of docs/settings.md");
});

Deno.test("docs/settings.md says which settings are never read from a .env", () => {
  const remarked = settingRows().filter(({ remark }) => /^(never in|environment only)/.test(remark))
    .flatMap(({ options }) => options);
  const wanted = SETTING_NAMES.filter((name) => !OF_FILE.includes(name));
  assertSame(remarked, ["envFile", ...wanted, "log"], "the remarks of the table");
});

Deno.test(".env.example lists exactly the settings that are read from a .env", () => {
  const lines = [...documentText(".env.example").matchAll(/^#([A-Z_]+)=/gm)]
    .map(([, name = ""]) => name);
  assertSame(lines, OF_FILE.map((name) => VARIABLES[name]), ".env.example");
});
