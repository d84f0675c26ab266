/** The documentation that a setting needs. Each test reports what a new setting lacks. */
import { assertEquals } from "@std/assert";
import {
  ENV_FILE_VARIABLE,
  SETTING_NAMES,
  SETTING_RULES,
  VARIABLES,
} from "../../src/settings/options.ts";
import { LOG_VARIABLE } from "../../src/platform/log.ts";
import { documentText } from "../support/documented_flags.ts";

/** The words in a text that stand between backticks. */
function quoted(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, word = ""]) => word);
}

/** The rows of the table of settings: options, variables, and the remark behind these. */
function settingRows(): { options: string[]; variables: string[]; remark: string }[] {
  const [table = ""] = documentText("docs/settings.md").split(/^## /m);
  return [...table.matchAll(/^\| (`[^|]*`) +\| ([^|]*) \|/gm)]
    .map(([, options = "", variables = ""]) => ({
      options: quoted(options),
      variables: quoted(variables.replace(/\(.*\)/, "")),
      remark: /\((.*)\)/.exec(variables)?.[1] ?? "",
    }));
}

/** Fails, naming what one list lacks or has too much. */
function assertSame(found: readonly string[], wanted: readonly string[], where: string): void {
  assertEquals(wanted.filter((each) => !found.includes(each)), [], `${where} lacks these`);
  assertEquals(found.filter((each) => !wanted.includes(each)), [], `${where} has these too much`);
}

const OF_FILE = SETTING_NAMES.filter((name) =>
  SETTING_RULES[name].readFrom === "environment and file"
);

Deno.test("the table of docs/settings.md has every setting with its variable, and no other", () => {
  const listed = settingRows().flatMap(({ options, variables }) =>
    options.map((option, index) => `${option} ${variables[index] ?? "without a variable"}`)
  );
  const wanted = SETTING_NAMES.map((name) => `${name} ${VARIABLES[name]}`);
  const others = [
    `envFile ${ENV_FILE_VARIABLE}`,
    "exportEnv without a variable",
    `log ${LOG_VARIABLE}`,
  ];
  assertSame(listed, [...wanted, ...others], "the table of docs/settings.md");
});

Deno.test("the table of docs/settings.md says which settings are never read from a .env", () => {
  const remarked = settingRows().filter(({ remark }) => /^(never in|environment only)/.test(remark))
    .flatMap(({ options }) => options);
  const wanted = SETTING_NAMES.filter((name) => !OF_FILE.includes(name));
  assertSame(remarked, ["envFile", ...wanted, "log"], "what the table remarks so");
});

Deno.test(".env.example has a line for every setting that may stand in a .env, and for no other", () => {
  const lines = [...documentText(".env.example").matchAll(/^#([A-Z_]+)=/gm)]
    .map(([, name = ""]) => name);
  assertSame(lines, OF_FILE.map((name) => VARIABLES[name]), ".env.example");
});
