import { durationText } from "../errors/amounts.ts";
import { printable } from "../errors/escape.ts";
import type { LogEvent } from "./log_event.ts";
import { isDumbTerminal } from "./terminal.ts";

/** Width of the column with the names of the events. */
const NAME_WIDTH = 8;

/**
 * Writes an event as one line to standard error. Uses `console`, because nothing else appears under
 * the cell of a notebook.
 */
export function writeLine(event: LogEvent): void {
  // The terminal may show a progress line. The event overwrites it, and the next progress update
  // draws it again below.
  const start = Deno.stderr.isTerminal() && !isDumbTerminal() ? "\r\u001b[K" : "";
  const line = `platform-auth: ${event.event.padEnd(NAME_WIDTH)}  ${printable(textOf(event))}`;
  try {
    console.error(start + line);
  } catch {
    // The failure cannot be reported anywhere else.
  }
}

const REASONS = {
  due: "due (no valid token)",
  early: "early (the token expires soon)",
  forced: "forced",
  rejected: "rejected (the API responded with 401)",
} as const;

const LOGINS = {
  password: "with user name and password",
  portal: "with a string from the portal",
  kept: "kept the valid session",
} as const;

const LOGOUTS = {
  here: "on this computer",
  provider: "on this computer and at the provider",
  everywhere: "on all devices",
} as const;

function textOf(event: LogEvent): string {
  switch (event.event) {
    case "settings":
      return sourcesOf(event);
    case "refresh":
      return `${REASONS[event.reason]}: ${ended(event.outcome)} in ${timeText(event.milliseconds)}`;
    case "login":
      return LOGINS[event.outcome];
    case "logout":
      return LOGOUTS[event.outcome];
    case "request": {
      const { attempt, error, flow, method, milliseconds, status, url } = event;
      const purpose = flow === undefined ? [] : [`(${flow})`];
      const result = [status, error].filter((each) => each !== undefined);
      const repeated = attempt === 1 ? "" : `, attempt ${attempt}`;
      const words = [method, url, ...purpose, ...result, "in", timeText(milliseconds)];
      return words.join(" ") + repeated;
    }
    case "pause":
      return `${timeText(event.pauseMs)} (${event.reason})`;
    case "lock":
      return `${event.isHeld ? "obtained" : "not obtained"} after ${timeText(event.waitedMs)}`;
  }
}

function ended(outcome: string): string {
  if (outcome === "served") return "done by another process";
  return /[A-Z]/.test(outcome) ? `failed with ${outcome}` : outcome;
}

function sourcesOf({ file, exists, origins }: LogEvent & { event: "settings" }): string {
  const names = (wanted: string) =>
    Object.keys(origins).filter((name) => origins[name] === wanted).join(", ");
  const inFile = exists ? names("file") || "no settings" : "does not exist";
  const places = [
    file === undefined ? "no .env" : `${file}: ${inFile}`,
    ...["environment", "option"].filter(names).map((place) => `${place}: ${names(place)}`),
  ];
  return places.join("; ");
}

function timeText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : durationText(ms);
}
