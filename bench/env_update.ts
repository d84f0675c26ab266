import { editEnvText } from "../src/settings/env_text.ts";
import { updateEnvFile } from "../src/settings/env_file.ts";
import { compare, interleave, timed } from "./interleave.ts";
import { type Part, rounds, sizesUpTo } from "./part.ts";
import { figure, rangeText, ratioTarget, type Target, valueTarget } from "./report.ts";
import { fittedExponent, type Summary } from "./stats.ts";

const SIZES = [1, 20, 100, 1_000, 10_000, 100_000];
const ROUNDS = 15;
/** Writing a small file takes so little time that chance has more influence. */
const ROUNDS_OF_SMALL = 150;

/**
 * The cost of updating the token lines of a `.env`, by its size, compared with a bare atomic write.
 */
export const envUpdate: Part = async (effort) => {
  const folder = await Deno.makeTempDir({ prefix: "bench-" });
  try {
    const points: { lines: number; bare: Summary; update: Summary; edit: Summary }[] = [];
    let ofLargest: readonly number[] = [];
    for (const lines of sizesUpTo(SIZES, effort)) {
      const ours = `${folder}/ours-${lines}.env`;
      const bare = `${folder}/bare-${lines}.env`;
      const text = textOf(lines);
      await Deno.writeTextFile(ours, text, { mode: 0o600 });
      const samples = await interleave(
        [
          { name: "bare", measure: () => timed(() => bareReplace(bare, text)) },
          {
            name: "update",
            measure: () => timed(() => updateEnvFile({ path: ours }, newTokens(), true)),
          },
          {
            name: "edit",
            measure: () => timed(() => Promise.resolve(editEnvText(text, newTokens()))),
          },
        ],
        rounds(lines <= 1_000 ? ROUNDS_OF_SMALL : ROUNDS, effort),
        2,
      );
      if (lines === 100_000) ofLargest = samples.get("update") ?? [];
      const compared = compare(samples, "bare");
      const [bareOne, update, edit] = ["bare", "update", "edit"].map((it) => compared.get(it));
      if (bareOne && update && edit) points.push({ lines, bare: bareOne, update, edit });
    }
    // Below a thousand lines, the disk dominates.
    const large = points.filter(({ lines }) => lines >= 1_000);
    const exponent = fittedExponent(
      large.map(({ lines }) => lines),
      large.map(({ edit }) => edit.median),
    );
    const at = (lines: number) => points.find((point) => point.lines === lines)?.update;
    return {
      part: "env-update",
      tables: [{
        title: "Update of the `.env`",
        columns: [
          "lines",
          "bare write, fsync, rename, fsync",
          "update",
          "ratio",
          "95 % interval",
          "of which the edit of the text",
        ],
        rows: points.map(({ lines, bare, update, edit }) => [
          lines.toLocaleString("en-US"),
          `${figure(bare.median)} ms`,
          `${figure(update.median)} ms`,
          update.ratio,
          rangeText(update.interval),
          `${figure(edit.median)} ms`,
        ]),
        notes: [`Growth of the edit from 1,000 lines on: lines^${exponent.toFixed(2)}.`],
      }],
      targets: [
        ...ratioTarget("update of 20 lines over the bare write", at(20), 1.5),
        ...valueTarget("update of 100,000 lines", ofLargest, 100, " ms"),
        ...(large.length < 2 ? [] : [growth(exponent)]),
      ],
      data: { points, exponent },
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
};

function growth(measured: number): Target {
  const claim = "growth of the edit with the lines, exponent";
  return { claim, measured, limit: 1.1, wanted: "at most", unit: "" };
}

/**
 * A file that contains the token lines in its middle, so that they are replaced in place. A `.env`
 * must not be larger than 1 MiB, so the lines are short.
 */
function textOf(lines: number): string {
  const text = Array.from(
    { length: lines },
    (_, at) => at % 10 === 9 ? `# ${at}` : `A${at}=1`,
  );
  text.splice(
    Math.floor(lines / 2),
    1,
    ...[...newTokens()].map(([key, value]) => `${key}=${value}`),
  );
  return `${text.join("\n")}\n`;
}

function newTokens(): Map<string, string | undefined> {
  const token = crypto.randomUUID().repeat(28);
  return new Map([
    ["ACCESS_TOKEN", token],
    ["REFRESH_TOKEN", token],
    ["ACCESS_TOKEN_EXPIRES_AT", new Date().toISOString()],
    ["AUTHENTICATED_AT", new Date().toISOString()],
  ]);
}

/** The minimum for an atomic write that survives a power cut. */
async function bareReplace(path: string, text: string): Promise<void> {
  const temporary = `${path}.tmp`;
  {
    using file = await Deno.open(temporary, { write: true, create: true, truncate: true });
    const bytes = new TextEncoder().encode(text);
    for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
    await file.sync();
  }
  await Deno.rename(temporary, path);
  using folder = await Deno.open(path.slice(0, path.lastIndexOf("/")), { read: true });
  await folder.sync();
}
