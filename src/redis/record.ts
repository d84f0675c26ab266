import { parsedJson } from "../platform/json.ts";
import type { SessionRecord } from "../settings/session_store.ts";

/** Reads a record from its JSON text. Returns `undefined` for any other text. */
export function recordIn(text: string): SessionRecord | undefined {
  const value = parsedJson(text);
  const isRecord = typeof value === "object" && value !== null && !Array.isArray(value) &&
    Object.values(value).every((each) => typeof each === "string");
  return isRecord ? value as SessionRecord : undefined;
}
