import type { Download } from "../api/download/download.ts";
import type { Downloads } from "../api/download/download_all.ts";
import { AuthError } from "../errors/errors.ts";
import { bytesText, counted, durationText } from "../errors/amounts.ts";
import { displayPath } from "../files/paths.ts";
import { displayed } from "./displayable.ts";
import type { Row, View } from "./view.ts";

/** Makes a saved file show as a card in a notebook and as text in a terminal. */
export function displayableDownload(download: Download): Download {
  return displayed(download, () => downloadView(download));
}

/** Makes the result of many downloads show as a card in a notebook and as text in a terminal. */
export function displayableDownloads(downloads: Downloads): Downloads {
  return displayed(downloads, () => downloadsView(downloads));
}

function downloadView(download: Download): View {
  const { file, bytes, milliseconds, contentType, resumedFrom, kept } = download;
  return {
    tone: "good",
    title: displayPath(file),
    note: kept
      ? `kept: it existed already, ${bytesText(bytes)}`
      : `saved, ${sizeText(bytes, milliseconds)}`,
    rows: [
      ...(contentType === undefined ? [] : [{ name: "type", value: contentType }]),
      ...(resumedFrom === 0
        ? []
        : [{ name: "resumed", value: `from ${bytesText(resumedFrom)} of an earlier call` }]),
    ],
  };
}

/** Maximum number of failures shown. The result itself lists all failures. */
const MOST_SHOWN = 20;

function downloadsView({ counts, failed, bytes, milliseconds }: Downloads): View {
  const shown = failed.slice(0, MOST_SHOWN);
  const rest = counts.failed - shown.length;
  const title = [
    `${counted(counts.saved, "file")} saved`,
    ...(counts.kept > 0 ? [`${counts.kept} kept`] : []),
    ...(counts.failed > 0 ? [`${counts.failed} failed`] : []),
  ].join(", ");
  return {
    tone: counts.failed === 0 ? "good" : counts.saved === 0 ? "red" : "amber",
    title,
    note: sizeText(bytes, milliseconds),
    rows: [
      ...shown.map(({ input, file, error }): Row => {
        const { problem, fix } = error instanceof AuthError ? error : { problem: error.message };
        const value = `${input} → ${displayPath(file)}: ${problem}`;
        return { name: "failed", value, fix, level: "fail" };
      }),
      ...(rest > 0 ? [{ name: "failed", value: `and ${rest} more`, level: "fail" as const }] : []),
      ...(counts.failed > 0
        ? [{ name: "next", value: "run the download again; existing files are kept" }]
        : []),
    ],
  };
}

function sizeText(bytes: number, ms: number): string {
  return `${bytesText(bytes)} in ${ms < 1_000 ? "under 1 s" : durationText(ms)}`;
}
