import { ACCOUNT_SETTINGS, valueProblem } from "./account_settings.ts";
import { SHARED_SETTINGS } from "./settings_file.ts";
import { parseEnvText } from "../settings/env_parser.ts";
import { parsedJson } from "../platform/json.ts";
import { unseen } from "../errors/escape.ts";

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
 * Finds the settings in a reply of the support channel. The reply may contain lines of a `.env`,
 * lines such as `Client id: …`, a table, sentences such as "The client id is …", or JSON. Its lines
 * may be quoted with `>` as in an e-mail. Addresses in sentences are ignored: a guess must not
 * decide which host receives a password.
 */
export function readReply(reply: string): Reply {
  const env = withoutEnvLines(plainText(reply));
  const json = withoutJson(env.rest);
  const pairs = [...json.pairs, ...linesOf(json.rest), ...rowsOf(json.rest)];
  const inSentences = sentencesOf(json.rest).flatMap(findingOf)
    .filter(({ name }) => !name.endsWith("_URL"));
  const findings = [...env.findings, ...pairs.flatMap(findingOf), ...inSentences];
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

interface Pair {
  readonly label: string;
  readonly text: string;
  /**
   * Whether the text may not be the label's value, such as the line after a label. If a guess has
   * the wrong shape, it is ignored instead of rejected.
   */
  readonly isGuess?: boolean;
}

function findingOf({ label, text, isGuess = false }: Pair): Finding[] {
  const plain = label.replace(/\([^()]*\)/g, "").toLowerCase().replace(/[^a-z]/g, "");
  const setting = ACCOUNT_SETTINGS.find((it) => it.label.test(plain));
  if (setting === undefined) return [];
  const { name, shape, expected } = setting;
  const word = bare(text.replace(/ \([^()]*\)$/, ""));
  if (name === "APP_CLIENT_SECRET" && word.toLowerCase() === "none") return [{ name, value: "" }];
  if (!shape.test(word)) {
    const problem = `it is not ${expected}`;
    return isGuess || text.trim() === "" ? [] : [{ name, value: word, problem }];
  }
  const value = name.endsWith("_URL") ? addressOf(word) : word;
  return [{ name, value, problem: valueProblem(name, value) }];
}

function addressOf(value: string): string {
  const whole = /^https?:/i.test(value) ? value : `https://${value}`;
  const url = URL.parse(whole);
  return url === null ? whole : `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

/**
 * Removes the `>` marks and invisible characters that mail programs add, and replaces typographic
 * quotes.
 */
function plainText(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(unseen(), "")
    .replace(/[^\S\n]/g, " ").replace(/^ *(?:> ?)+/gm, "")
    .replace(/[“”]/g, '"').replace(/[‘’]/g, "'");
}

/** Reads and removes the lines of a `.env`. Lines without a value stay in the text. */
function withoutEnvLines(text: string): { findings: Finding[]; rest: string } {
  const findings: Finding[] = [];
  const rest = text.replace(/^ *((?:export )?([A-Z_]+)=.*)$/gm, (whole, line, name) => {
    const value = SHARED_SETTINGS.includes(name) ? parseEnvText(line).get(name) ?? "" : "";
    if (value === "" || /^<.*>$/.test(value)) return whole;
    findings.push({ name, value, problem: valueProblem(name, value) });
    return "";
  });
  return { findings, rest };
}

function withoutJson(text: string): { pairs: Pair[]; rest: string } {
  const start = text.indexOf("{");
  const end = text.lastIndexOf("}") + 1;
  const value = parsedJson(text.slice(start, end));
  if (value === undefined) return { pairs: [], rest: text };
  return { pairs: jsonPairs(value), rest: `${text.slice(0, start)}\n${text.slice(end)}` };
}

/**
 * Lists the strings in JSON with their labels. One label is the string's own key; the other labels
 * are that key preceded by the keys of its parents. For example, the string in `{ client: { id } }`
 * has the labels `id` and `clientid`.
 */
function jsonPairs(value: unknown, keys: readonly string[] = []): Pair[] {
  if (typeof value === "string") {
    return keys.map((_, at) => ({ label: keys.slice(at).join(""), text: value }));
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => jsonPairs(member, [...keys, key]));
}

/**
 * Finds lines that consist of a label and a value, separated by a colon or an equals sign. Also
 * finds a label whose value is on the next line, with or without a colon.
 */
function linesOf(text: string): Pair[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.flatMap((line, at): Pair[] => {
    const [, label = "", rest = ""] = /^([^:=|]+)(?:[:=](.*))?$/.exec(line) ?? [];
    if (label === "") return [];
    const isGuess = rest.trim() === "";
    return [{ label, text: isGuess ? lines[at + 1] ?? "" : rest, isGuess }];
  });
}

/**
 * Finds labels and values in Markdown tables. A label is either the first cell of a row, or the
 * head of a column.
 */
function rowsOf(text: string): Pair[] {
  const rows = text.split("\n").filter((line) => line.includes("|"))
    .map((line) => line.trim().replace(/^\||\|$/g, "").split("|"));
  return rows.flatMap((row, at): Pair[] => {
    const [label = "", value = ""] = row;
    const isHead = rows[at + 1]?.every((cell) => /^\s*:?-+:?\s*$/.test(cell));
    const below = isHead ? rows[at + 2] ?? [] : [];
    return [
      { label, text: value, isGuess: isHead === true },
      ...below.map((cell, column) => ({ label: row[column] ?? "", text: cell })),
    ];
  });
}

/** Matches "the client id is …" at the beginning of a clause. */
const CLAUSE =
  /(?<=^|[.,;]\s(?:and\s)?|\sis\s\S{1,200}\sand\s)(?:the|your|our)?\s*(?=([a-z][a-z\s]{0,60}?)\s+is\s+(\S+?)(?:[.,;!]*$|[.,;!]+\s|\sand\s))/gim;

/** Finds the labels and values in sentences. */
function sentencesOf(text: string): Pair[] {
  return [...text.matchAll(CLAUSE)].map(([, label = "", value = ""]) => (
    { label, text: value, isGuess: true }
  ));
}

/**
 * Removes the punctuation around a text. Returns an empty text for a placeholder such as
 * `<APP_CLIENT_ID>`.
 */
function bare(text: string): string {
  const word = text.replace(/^[\s*]+/, "");
  if (/^<[^:]*>/.test(word)) return "";
  return word.replace(/^["'`([{<*]+/, "").replace(/[\s"'`)\]}>*,;.:!?]+$/, "");
}
