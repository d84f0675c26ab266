import { parseEnvText } from "../dotenv/parser.ts";
import { VARIABLES } from "../settings/options.ts";
import { Secret, VISIBLE_ASCII } from "../values/secret.ts";

/** User name and password are the user's own: a reply brings neither. */
const SETTINGS: readonly string[] = Object.values(VARIABLES)
  .filter((name) => name !== VARIABLES.username && name !== VARIABLES.password);

/** Between the words of a label, as in "client id", CLIENT_ID, clientId and client.id. */
const GAP = "[ _.-]*";
const APP = `(?:app(?:lication)?${GAP})?`;
const ID = "id(?:entifier)?";
const POOL = `(?:user|benutzer)${GAP}pool`;
/**
 * What the values are called, in English and in German. A label is a whole word, or the end of one
 * such as `myClientId`: a part of a value with hyphens is none.
 */
const LABELS = new RegExp(
  `(?<![\\w/.@-])[A-Za-z_]*?(?:(?<APP_CLIENT_SECRET>${APP}client${GAP}(?:secret|geheimnis)|secret|geheimnis)` +
    `|(?<APP_CLIENT_ID>${APP}client${GAP}${ID}|app(?:lication)?${GAP}(?:clients?|${ID}))` +
    `|(?<USER_POOL_ID>${POOL}(?:${GAP}${ID})?|pool${GAP}${ID}|pool(?= *[:=|])))(?![\\w/-])`,
  "gi",
);

/** May stand between a label and its value. */
const FILLER =
  /^(?:[^\w<]*|id|is|are|be|the|your|our|this|its|value|key|as|follows|following|now|for|of|to|use|app|client|subscription|ist|sind|lautet|der|die|das|ihre?|wert|wie|folgt)$/i;

const SHAPES: Readonly<Record<string, RegExp>> = {
  APP_CLIENT_ID: /^(?=.*\d)[\w.:+-]{4,}$/,
  // Dates, ticket numbers and words, which may stand in its place, are shorter or hold no digit.
  // No word is as long as one that holds none.
  APP_CLIENT_SECRET: /^(?=.*\d|.{32})(?=.*[A-Za-z])(?!.*(?:["'`<>|@]|:\/\/))[\x21-\x7e]{16,}$/,
  USER_POOL_ID: /^(?=.*\d)[\w-]{4,}$/,
};

/** A pool id of Amazon Cognito: no other text looks like it. */
const AWS_POOL = /(?<![\w-])([a-z]{2}(?:-[a-z]+)+-\d)_[A-Za-z0-9]+(?![\w-])/g;
const NO_SECRET =
  /\b(?:is a public client|client (?:has|needs) no secret)\b|\bsecret["'`*_ ]*[:=|]\s*["'`*]*none\b/i;

const ADDRESS =
  /https?:\/\/[^\s"'`<>|*)\]}\\]+|(?<![\w@./-])(?:[a-z\d-]+\.){2,}[a-z]{2,}(?::\d+)?(?![\w@.-])/gi;
const TOKEN_ENDPOINT =
  /token[ _-]*(?:endpunkt|endpoint|url|add?ress)|(?:endpunkt|endpoint|adresse)[ _-]*(?:f.r|der|des|von|for|of)(?: the)? tokens?\b|initiate[ _-]*auth|identity[ _-]*provider|\bauth[ _-]*(?:url|endpoint|address)|\bidp\b/i;
const API = /\bapi|bas(?:e|is)[ _-]*(?:url|add?ress)|data[ -]*platform/i;
/** Other addresses that support channels send. */
const READING =
  /\b(?:docs?|documentation|portal|manual|guide|wiki|ticket|swagger|status|dokumentation|anleitung|handbuch)\b/i;

/**
 * Finds the settings in a reply of the support channel: a table, prose, JSON, lines of a `.env`, with or
 * without the quote marks of e-mail. What is named twice with different values is left out, and so is
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
  const { lines, rest } = withoutEnvLines(plainText(reply));
  for (const [name, value] of lines) take(name, value);
  const text = withRowsAsLines(withJsonAsLines(rest));
  for (const [name, value] of labelled(text)) take(name, value);
  for (const [pool] of text.matchAll(AWS_POOL)) take("USER_POOL_ID", pool);
  for (const [name, value] of addresses(text)) take(name, value);
  if (!found.has("APP_CLIENT_SECRET") && NO_SECRET.test(text)) take("APP_CLIENT_SECRET", "");
  const certain = [...found].flatMap(([name, [value = "", ...others]]) =>
    others.length === 0 ? [[name, value] as const] : []
  );
  const values = new Map(certain);
  const [, region] = new RegExp(AWS_POOL.source).exec(values.get("USER_POOL_ID") ?? "") ?? [];
  const named = ["AUTH_URL", "AUTH_REGION"].some((name) => found.has(name));
  if (!named && region !== undefined && /cognito|\baws\b|amazon/i.test(text)) {
    values.set("AUTH_PROVIDER", "aws").set("AUTH_REGION", region);
  }
  return new Map([...values].map(([name, value]) => [name, new Secret(value)]));
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
    const value = SETTINGS.includes(name) ? parseEnvText(line).get(name) ?? "" : "";
    if (value === "" || /^<.*>$/.test(value)) return whole;
    lines.set(name, value);
    return "";
  });
  return { lines, rest };
}

function withJsonAsLines(text: string): string {
  const [start, end] = [text.indexOf("{"), text.lastIndexOf("}") + 1];
  try {
    const lines = jsonLines(JSON.parse(text.slice(start, end)));
    return [text.slice(0, start), ...lines, text.slice(end)].join("\n\n");
  } catch {
    return text;
  }
}

function jsonLines(value: unknown, path = ""): string[] {
  if (typeof value === "string") return [`${path}: ${value}`];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => jsonLines(member, `${path} ${key}`));
}

/** A table with its labels in the first row becomes a line for each column. */
function withRowsAsLines(text: string): string {
  const lines = text.split("\n").filter((line) => !/^[\s|:+=─┼├┤-]+$/.test(line) || line === "");
  return lines.map((line, at) => {
    const labels = cells(line);
    const values = cells(lines[at + 1] ?? "");
    const isHead = labels.length > 1 && labels.length === values.length &&
      labels.filter((each) => each.search(LABELS) >= 0).length > 1;
    return isHead ? labels.map((label, index) => `${label}: ${values[index]}\n\n`).join("") : line;
  }).join("\n");
}

function cells(line: string): string[] {
  return line.replace(/^ *\||\| *$/g, "").split(/ *\| *| {2,}/).map((cell) => cell.trim());
}

function labelled(text: string): [name: string, value: string][] {
  const labels = [...text.matchAll(LABELS)];
  return labels.flatMap((label, at): [string, string][] => {
    const name = Object.entries(label.groups ?? {}).find(([, found]) => found)?.[0] ?? "";
    const end = label.index + label[0].length;
    const before = text.slice(endOf(labels[at - 1]), label.index);
    // "the client id and the secret are … and …": which is which is not certain.
    if (at > 0 && /^[ ,&/+]*(?:(?:and|the|your) *)*$/i.test(before)) return [];
    const ahead = /(\S+) +as +(?:(?:the|your|our|app) +)*$/i.exec(before)?.[1];
    const behind = text.slice(end, labels[at + 1]?.index);
    const value = ahead === undefined ? firstWord(behind) : bare(ahead);
    return SHAPES[name]?.test(value) ? [[name, value]] : [];
  });
}

function endOf(match: RegExpExecArray | undefined): number {
  return match === undefined ? 0 : match.index + match[0].length;
}

/** The first word that is no filler, on the label's line or the next one: mail programs break lines. */
function firstWord(text: string): string {
  const [line = "", next = ""] = text.replace(/^["'`*_ ]*[:=|]/, " ").replace(/\([^()\n]*\)/g, " ")
    .split("\n");
  return [line, next].flatMap((part) => part.split(/[\s|]+/)).map(bare)
    .find((word) => !FILLER.test(word)) ?? "";
}

/** A word without the marks around it. A placeholder such as `<APP_CLIENT_ID>` is none. */
function bare(word: string): string {
  if (/^<[^:]*>/.test(word)) return "";
  return word.replace(/^["'`([{<*]+/, "").replace(/["'`)\]}>*,;.:!?]+$/, "");
}

/** Addresses, by what the words of their sentence or line before them say. */
function addresses(text: string): [name: string, value: string][] {
  let last = 0;
  return [...text.matchAll(ADDRESS)].flatMap((match): [string, string][] => {
    const isWhole = /^https?:/i.test(match[0]);
    const given = match[0].replace(/[.,;:!?]+$/, "");
    const url = URL.parse(isWhole ? given : `https://${given}`);
    const words = /(?:[^\n]*\n)?[^\w\n]*$|[^\n]*$/.exec(text.slice(last, match.index))?.[0] ?? "";
    const sentence = words.replace(/^[^]*[.!?] /, "");
    if (isWhole) last = endOf(match);
    if (url === null) return [];
    const address = `${url.origin}${url.pathname}`.replace(/\/+$/, "");
    if (url.hostname.startsWith("cognito-idp.")) return [["AUTH_URL", url.origin]];
    if (READING.test(sentence)) return [];
    if (TOKEN_ENDPOINT.test(sentence)) return [["AUTH_URL", address]];
    const isApi = API.test(sentence) || (isWhole && /^api[.-]/.test(url.hostname));
    return isApi ? [["API_BASE_URL", address]] : [];
  });
}
