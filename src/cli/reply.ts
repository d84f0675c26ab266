import { parseEnvText } from "../settings/env_parser.ts";
import { SHARED_SETTINGS } from "./settings_file.ts";
import { Secret, VISIBLE_ASCII } from "../platform/secret.ts";

const ADDRESS = /^(?:https?:\/\/)?[\w-]+(?:\.[\w-]+)+(?::\d+)?(?:\/[^\s"'`<>|\\]*)?$/i;

/**
 * What each setting is called in a reply, in English and in German, in lower case and without what
 * stands between the words; and what its value looks like.
 */
const EXPECTED: Readonly<Record<string, { readonly label: RegExp; readonly shape: RegExp }>> = {
  AUTH_URL: {
    label:
      /^(?:(?:auth|token)(?:url|address|endpoint(?:url)?)|addressofthetokenendpoint|(?:adressedes)?tokenendpunkts?|initiateauth|identityprovider)$/,
    shape: ADDRESS,
  },
  APP_CLIENT_ID: {
    label: /^(?:app(?:lication)?)?clientid(?:entifier)?$/,
    shape: /^(?=.*\d)[\w.:+-]{4,}$/,
  },
  APP_CLIENT_SECRET: {
    label: /^(?:(?:app(?:lication)?)?client)?(?:secret|geheimnis)$/,
    // Dates, ticket numbers and words, which may stand in its place, are shorter or hold no digit.
    // No word is as long as one that holds none.
    shape: /^(?=.*\d|.{32})(?=.*[A-Za-z])(?!.*(?:["'`<>|@]|:\/\/))[\x21-\x7e]{16,}$/,
  },
  USER_POOL_ID: {
    label: /^(?:user|benutzer)?pool(?:id)?$/,
    shape: /^(?=.*\d)[\w-]{4,}$/,
  },
  API_BASE_URL: {
    label:
      /^(?:dataplatform)?api(?:base)?(?:url|address|endpoint)?$|^(?:base(?:url|address)|basisadresse)(?:(?:of|der)(?:the)?(?:dataplatform)?api)?$/,
    shape: ADDRESS,
  },
};

/**
 * Finds the settings in a reply of the support channel: a table, lines such as `Client id: …`, lines of a
 * `.env`, or JSON, with or without the quote marks of e-mail. Sentences are not read: a guess must not
 * decide which host gets a password. What is named twice with different values is left out, and so is
 * what does not look like a value: a question is better than a wrong setting.
 *
 * @returns The values by the name of their variable. An empty secret: the client has none.
 */
export function readReply(reply: string): Map<string, Secret> {
  const found = new Map<string, Set<string>>();
  const take = (name: string, value: string) => {
    if (VISIBLE_ASCII.test(value) || value === "") {
      found.set(name, (found.get(name) ?? new Set()).add(value));
    }
  };
  const env = withoutEnvLines(plainText(reply));
  for (const [name, value] of env.lines) take(name, value);
  const json = withoutJson(env.rest);
  for (const [labels, text] of [...json.pairs, ...rowsOf(json.rest), ...linesOf(json.rest)]) {
    const [name, value] = settingOf(labels, text) ?? [];
    if (name !== undefined && value !== undefined) take(name, value);
  }
  const values = new Map<string, Secret>();
  for (const [name, [value = "", ...others]] of found) {
    if (others.length === 0) values.set(name, new Secret(value));
  }
  return values;
}

/** What a value may be called, the whole name first, and the value. */
type Pair = readonly [labels: readonly string[], value: string];

/** The setting that a label names, and its value; `undefined` if one of them is something else. */
function settingOf(labels: readonly string[], text: string): [string, string] | undefined {
  for (const label of labels) {
    const plain = label.replace(/\([^()]*\)/g, "").toLowerCase().replace(/[^\p{L}]/gu, "");
    const exact = /\(([A-Z_]+)\)/.exec(label)?.[1] ?? bare(label);
    const [name, expected] = Object.entries(EXPECTED)
      .find(([name, it]) => name === exact || it.label.test(plain)) ?? [];
    if (name === undefined || expected === undefined) continue;
    const value = bare(text.replace(/ \([^()]*\)$/, ""));
    if (name === "APP_CLIENT_SECRET" && value.toLowerCase() === "none") return [name, ""];
    if (!expected.shape.test(value)) return undefined;
    return name.endsWith("_URL") ? addressOf(name, value) : [name, value];
  }
  return undefined;
}

function addressOf(name: string, value: string): [string, string] | undefined {
  const url = URL.parse(/^https?:/i.test(value) ? value : `https://${value}`);
  return url === null ? undefined : [name, `${url.origin}${url.pathname}`.replace(/\/+$/, "")];
}

/** Without quote marks, invisible characters and typographic quotes, which programs for mail put in. */
function plainText(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(/\p{Cf}/gu, "").replace(/[\t│┃]/g, "|")
    .replace(/[^\S\n]/g, " ").replace(/^ *(?:> ?)+/gm, "")
    .replace(/[“”„«»]/g, '"').replace(/[‘’‚]/g, "'");
}

/** What has the form of a line of a `.env` is taken as it is, but for empty values and placeholders. */
function withoutEnvLines(text: string): { lines: Map<string, string>; rest: string } {
  const lines = new Map<string, string>();
  const rest = text.replace(/^ *((?:export )?([A-Z_]+)=.*)$/gm, (whole, line, name) => {
    const value = SHARED_SETTINGS.includes(name) ? parseEnvText(line).get(name) ?? "" : "";
    if (value === "" || /^<.*>$/.test(value)) return whole;
    lines.set(name, value);
    return "";
  });
  return { lines, rest };
}

function withoutJson(text: string): { pairs: Pair[]; rest: string } {
  const start = text.indexOf("{");
  const end = text.lastIndexOf("}") + 1;
  try {
    const pairs = jsonPairs(JSON.parse(text.slice(start, end)));
    return { pairs, rest: `${text.slice(0, start)}\n${text.slice(end)}` };
  } catch {
    return { pairs: [], rest: text };
  }
}

/** A member may be called by its own key, or by those around it as well, as in `{ client: { id } }`. */
function jsonPairs(value: unknown, keys: readonly string[] = []): Pair[] {
  if (typeof value === "string") return [[keys.map((_, at) => keys.slice(at).join("")), value]];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => jsonPairs(member, [...keys, key]));
}

/** A table with a label and its value in each row, or with the labels in its first row. */
function rowsOf(text: string): Pair[] {
  const rows = text.split("\n").map(cells);
  const tables = rows.filter((row) =>
    row.length > 1 && row.some((cell) => /[\p{L}\d]/u.test(cell))
  );
  return tables.flatMap((row, at): Pair[] => {
    const [label = "", value = ""] = row;
    const next = tables[at + 1] ?? [];
    const under = row.length === next.length ? next : [];
    return [[[label], value], ...under.map((cell, column): Pair => [[row[column] ?? ""], cell])];
  });
}

function cells(line: string): string[] {
  return line.replace(/^ *\||\| *$/g, "").split(/ *\| *| {2,}/).map((cell) => cell.trim());
}

/**
 * Lines with a label, a colon or an equals sign, and a value, which programs for mail put on the next
 * line.
 */
function linesOf(text: string): Pair[] {
  const lines = text.split("\n");
  return lines.flatMap((line, at): Pair[] => {
    const [, label = "", rest = ""] = /^([^:=|]+)[:=](.*)$/.exec(line) ?? [];
    const value = rest.trim() === "" ? lines[at + 1] ?? "" : rest;
    return label === "" ? [] : [[[label], value]];
  });
}

/** A text without the marks around it. A placeholder such as `<APP_CLIENT_ID>` is none. */
function bare(text: string): string {
  const word = text.replace(/^[\s*]+/, "");
  if (/^<[^:]*>/.test(word)) return "";
  return word.replace(/^["'`([{<*]+/, "").replace(/[\s"'`)\]}>*,;.:!?]+$/, "");
}
