import { bytesLoaded } from "./bytes_loaded.ts";
import { compare, interleave } from "./interleave.ts";
import { type Part, rounds } from "./part.ts";
import { peakMemory, run, startServer } from "./processes.ts";
import { releasedFolder } from "./released.ts";
import {
  figure,
  rangeText,
  ratioTarget,
  summaryColumns,
  summaryRows,
  type Table,
} from "./report.ts";
import { median, type Summary } from "./stats.ts";
import {
  type Contender,
  denoContender,
  isRunning,
  pythonContender,
  releasedContender,
  type Skipped,
  skippedNotes,
} from "./subjects.ts";

const LOGIN_ROUNDS = 50;
const RESUME_ROUNDS = 150;

/** The names by which the tables find the subjects. */
const BARE = "bare fetch";
const RELEASED = "ours, released file";
const SOURCE = "ours, source";
const SMALLER = "bare fetch, no `node:util`";

type Settings = Readonly<Record<string, string>>;

/** Whole processes, from start to exit: login to first response, and resume to first response. */
export const coldStart: Part = async (effort) => {
  await using confidential = await startServer<Settings>("sandbox_process.ts", ['{"words":"aws"}']);
  await using open = await startServer<Settings>("sandbox_process.ts", [
    '{"words":"aws","clientSecret":false}',
  ]);
  const released = `${await releasedFolder()}/mod.js`;
  const folder = await Deno.makeTempDir({ prefix: "bench-" });
  const env = confidential.hello;
  const lines = Object.entries(env).map(([name, value]) => `${name}=${value}\n`);
  await Deno.writeTextFile(`${folder}/.env`, lines.join(""), { mode: 0o600 });
  try {
    const logins = [
      await denoContender(BARE, "baseline_login.ts", folder, env),
      await releasedContender(RELEASED, "subjects/ours_login.ts", folder, released),
      await denoContender(SOURCE, "subjects/ours_login.ts", folder),
      ...(effort.peers ? await peerLogins(folder, env, open.hello) : []),
    ];
    const loginSamples = await compete(logins, rounds(LOGIN_ROUNDS, effort));
    const login = compare(loginSamples, BARE);
    const besideOurs = compare(loginSamples, RELEASED);
    const resumes = [
      await denoContender(BARE, "baseline_resume.ts", folder),
      await releasedContender(RELEASED, "subjects/ours_resume.ts", folder, released),
      await denoContender(SOURCE, "subjects/ours_resume.ts", folder),
      await denoContender(SMALLER, "baseline_resume_smaller.ts", folder),
      await denoContender("Deno, empty script", "subjects/import_nothing.ts", folder),
    ];
    const resumeSamples = await compete(resumes, rounds(RESUME_ROUNDS, effort));
    const resume = compare(resumeSamples, BARE);
    const besideSmaller = compare(resumeSamples, SMALLER);
    const resumeTable = await tableOf("Cold start: resume to first API response", resumes, resume);
    const notes = [RELEASED, SOURCE].map((name) => {
      const { ratio = NaN, interval = [NaN, NaN] as const } = besideSmaller.get(name) ?? {};
      return `- Over the baseline without \`node:util\`: ${name} ${figure(ratio)} × ` +
        `(${rangeText(interval)}).`;
    });
    return {
      part: "cold-start",
      tables: [
        await tableOf("Cold start: login to first API response", logins, login),
        { ...resumeTable, notes: [...resumeTable.notes ?? [], ...notes] },
        await loadedTable(folder, released, effort.peers),
      ],
      targets: [
        ...ratioTarget("login, released file, over bare fetch", login.get(RELEASED), 1.5),
        ...ratioTarget("resume, released file, over bare fetch", resume.get(RELEASED), 1.06),
        ...ratioTarget("resume, source, over bare fetch", resume.get(SOURCE), 1.4),
        ...ratioTarget(
          "login: AWS SDK over released file",
          besideOurs.get("AWS SDK"),
          2.3,
          "at least",
        ),
        ...ratioTarget(
          "login: boto3 over released file",
          besideOurs.get("Python boto3"),
          6,
          "at least",
        ),
      ],
      data: { login: Object.fromEntries(login), resume: Object.fromEntries(resume) },
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
};

/**
 * The clients with which people log in today. One of them does not support a client secret, so it
 * gets a server without one.
 */
async function peerLogins(
  folder: string,
  env: Settings,
  open: Settings,
): Promise<(Contender | Skipped)[]> {
  return [
    await denoContender("AWS SDK", "subjects/aws_sdk_login.ts", folder, env),
    await denoContender(
      "amazon-cognito-identity-js (no secret)",
      "subjects/cognito_js_login.ts",
      folder,
      open,
    ),
    await pythonContender("Python urllib", "subjects/urllib_login.py", folder, env, "urllib"),
    await pythonContender("Python boto3", "subjects/boto3_login.py", folder, env, "boto3"),
  ];
}

/** Runs the contenders in turn: milliseconds of each, by its name. */
export async function compete(
  contenders: readonly (Contender | Skipped)[],
  count: number,
): Promise<Map<string, number[]>> {
  return await interleave(
    contenders.filter(isRunning).map(({ name, program }) => ({
      name,
      measure: async () => (await run(program)).milliseconds,
    })),
    count,
  );
}

/** Times and peak memory, which is measured in separate runs. */
export async function tableOf(
  title: string,
  contenders: readonly (Contender | Skipped)[],
  summaries: ReadonlyMap<string, Summary>,
): Promise<Table> {
  const running = contenders.filter(isRunning);
  const memory = new Map<string, number | undefined>();
  for (const { name, program } of running) {
    const peaks = [await peakMemory(program), await peakMemory(program), await peakMemory(program)];
    memory.set(name, median(peaks.map((peak) => peak ?? NaN)));
  }
  const rows = summaryRows(summaries, "ms").map((row) => [
    ...row,
    `${figure(memory.get(String(row[0])) ?? NaN)} MiB`,
  ]);
  return {
    title,
    columns: [...summaryColumns("program", running[0]?.name ?? ""), "peak memory"],
    rows,
    notes: skippedNotes(contenders),
  };
}

async function loadedTable(folder: string, released: string, peers: boolean): Promise<Table> {
  const scripts = {
    "bare fetch, login": "baseline_login.ts",
    "bare fetch, resume": "baseline_resume.ts",
    [RELEASED]: released,
    [SOURCE]: "../mod.ts",
    ...(peers && {
      "AWS SDK": "subjects/aws_sdk_login.ts",
      "amazon-cognito-identity-js": "subjects/cognito_js_login.ts",
    }),
  };
  const rows = [];
  for (const [name, script] of Object.entries(scripts)) {
    const { source, onDemand, packages } = await bytesLoaded(script, folder);
    rows.push([name, ...[source, onDemand, packages].map((size) => `${figure(size)} KiB`)]);
  }
  return {
    title: "Code in the module graph (`deno info`)",
    columns: ["program", "source at import", "source on demand", "npm packages, whole"],
    rows,
  };
}
