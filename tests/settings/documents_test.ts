/** Every setting is documented. For a new one, these tests show the entries that are missing. */
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

Deno.test("docs/settings.md lists exactly the settings that exist, and which a .env cannot contain", () => {
  const [table = ""] = documentText("docs/settings.md").split(/^## /m);
  const rows = [...table.matchAll(/^\| (`[^|]*`) +\| ([^|]*) \|/gm)];
  const listed = rows.flatMap(([, options = "", variables = ""]) => {
    const names = quoted(variables.replace(/\(.*\)/, ""));
    const remark = /\((never in|environment only)/.test(variables) ? "not in a .env" : "";
    return quoted(options).map((option, at) => [option, names[at], remark].join(" ").trim());
  });
  const settings = SETTING_NAMES.map((name) =>
    `${name} ${VARIABLES[name]}${SETTING_RULES[name].notInFile ? " not in a .env" : ""}`
  );
  const others = [
    `envFile ${ENV_FILE_VARIABLE} not in a .env`,
    `log ${LOG_VARIABLE} not in a .env`,
    "exportEnv",
    "token",
  ];
  assertEquals(listed.sort(), [...settings, ...others].sort());
});

Deno.test(".env.example lists exactly the settings that are read from a .env", () => {
  const lines = [...documentText(".env.example").matchAll(/^#([A-Z_]+)=/gm)];
  const wanted = SETTING_NAMES.filter((name) => !SETTING_RULES[name].notInFile);
  assertEquals(lines.map(([, name]) => name).sort(), wanted.map((name) => VARIABLES[name]).sort());
});
