import { ACCOUNT_SETTINGS, valueProblem } from "./account_settings.ts";
import { SHARED_SETTINGS } from "./settings_file.ts";
import { unseen } from "../errors/escape.ts";
import { parsedJson } from "../platform/json.ts";
import { parseEnvText } from "../settings/env_parser.ts";

/** The settings in a reply. The keys of both maps are names of environment variables. */
export interface Reply {
  /** An empty secret means that the client has no secret. */
  readonly values: ReadonlyMap<string, string>;
  /**
   * The reason why a value cannot be used. The reason never quotes the value, which may be a
   * secret.
   */
  readonly rejected: ReadonlyMap<string, string>;
}

interface Finding {
  readonly name: string;
  readonly value: string;
  readonly problem?: string | undefined;
}

/**
 * Finds the settings in a reply of the support channel: lines such as `APP_CLIENT_ID=…` or
 * `Client id: …`, and JSON, also if an e-mail quotes them with `>`. Anything else is ignored: a
 * guess must not decide which host receives a password.
 */
export function readReply(reply: string): Reply {
  const text = plainText(reply);
  const start = text.indexOf("{");
  const end = text.lastIndexOf("}") + 1;
  const json = parsedJson(text.slice(start, end));
  const lines = json === undefined ? text : `${text.slice(0, start)}\n${text.slice(end)}`;
  const findings = [...inJson(json), ...lines.split("\n").flatMap(inLine)];
  const values = new Map<string, string>();
  const rejected = new Map<string, string>();
  for (const [name, all] of Map.groupBy(findings, ({ name }) => name)) {
    const usable = all.filter(({ problem }) => problem === undefined).map(({ value }) => value);
    const [value, ...others] = new Set(usable);
    if (value === undefined) rejected.set(name, all[0]?.problem ?? "");
    else if (others.length > 0) rejected.set(name, "it has more than one value");
    else values.set(name, value);
  }
  return { values, rejected };
}

/**
 * Removes the `>` marks and invisible characters that mail programs add, and replaces typographic
 * quotes.
 */
function plainText(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(unseen(), "").replace(/[^\S\n]/g, " ")
    .replace(/^[ >]+/gm, "").replace(/[“”]/g, '"').replace(/[‘’]/g, "'");
}

function inLine(line: string): Finding[] {
  const variable = /^(?:export )?([A-Z_]+)=/.exec(line)?.[1] ?? "";
  if (SHARED_SETTINGS.includes(variable)) {
    return findingOf(variable, parseEnvText(line).get(variable) ?? "");
  }
  const [, label = "", text = ""] = /^([^:=]+)[:=](.*)$/.exec(line) ?? [];
  return labeled(label, text);
}

/**
 * Finds settings among the strings in JSON. The label of a string is its key. The key "endpoint" is
 * ignored, because it may also mean the endpoint of the API.
 */
function inJson(value: unknown): Finding[] {
  return Object.entries(Object(value)).flatMap(([key, member]) => {
    if (typeof member !== "string") return inJson(member);
    return key === "endpoint" ? [] : labeled(key, member);
  });
}

function labeled(label: string, text: string): Finding[] {
  const plain = label.replace(/\([^()]*\)/g, "").toLowerCase().replace(/[^a-z]/g, "");
  const name = ACCOUNT_SETTINGS.find((setting) => setting.label.test(plain))?.name;
  if (name === undefined) return [];
  const value = bare(text);
  const isWord = /_(?:ID|SECRET)$/.test(name);
  if (name === "APP_CLIENT_SECRET" && value.toLowerCase() === "none") return [{ name, value: "" }];
  if (isWord && !/^$|\d/.test(value)) {
    return [{ name, value, problem: "it has no digit, so it is probably a word of the text" }];
  }
  return findingOf(name, value);
}

/** Removes the punctuation around a text. */
function bare(text: string): string {
  return text.trim().replace(/^[\s"'`([*]+|["'`)\]*,;.:!?]+$/g, "").replace(/^<(.+:.*)>$/, "$1");
}

/** Ignores an empty value and a placeholder such as `<APP_CLIENT_ID>`. */
function findingOf(name: string, value: string): Finding[] {
  if (/^(?:<.*>)?$/.test(value)) return [];
  return [{ name, value, problem: valueProblem(name, value) }];
}
