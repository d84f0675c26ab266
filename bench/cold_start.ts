import { bytesLoaded } from "./bytes_loaded.ts";
import { compare, interleave } from "./interleave.ts";
import { type Part, rounds } from "./part.ts";
import { peakMemory, run, startServer } from "./processes.ts";
import { figure, summaryColumns, summaryRows, type Table } from "./report.ts";
import { median, type Summary } from "./stats.ts";
import {
  type Contender,
  denoContender,
  isRunning,
  pythonContender,
  type Skipped,
  skippedNotes,
} from "./subjects.ts";

const ROUNDS = 25;

type Settings = Readonly<Record<string, string>>;

/** Whole processes, from start to exit: login to first answer, and resume to first answer. */
export const coldStart: Part = async (effort) => {
  await using confidential = await startServer<Settings>("sandbox_process.ts", ['{"words":"aws"}']);
  await using open = await startServer<Settings>("sandbox_process.ts", [
    '{"words":"aws","clientSecret":false}',
  ]);
  const folder = await Deno.makeTempDir({ prefix: "bench-" });
  const env = confidential.hello;
  const lines = Object.entries(env).map(([name, value]) => `${name}=${value}\n`);
  await Deno.writeTextFile(`${folder}/.env`, lines.join(""), { mode: 0o600 });
  try {
    const logins = [
      await denoContender("bare fetch", "baseline_login.ts", folder, env),
      await denoContender("ours", "subjects/ours_login.ts", folder),
      ...(effort.peers ? await peerLogins(folder, env, open.hello) : []),
    ];
    const login = await compete(logins, rounds(ROUNDS, effort));
    const resumes = [
      await denoContender("bare fetch", "baseline_resume.ts", folder),
      await denoContender("ours", "subjects/ours_resume.ts", folder),
      await denoContender("Deno, empty script", "subjects/import_nothing.ts", folder),
    ];
    const resume = await compete(resumes, rounds(ROUNDS, effort));
    const tables = [
      await tableOf("Cold start: login to first API answer", logins, login),
      await tableOf("Cold start: resume to first API answer", resumes, resume),
      await loadedTable(folder, effort.peers),
    ];
    const times = (name: string) => (login.get(name)?.median ?? NaN) / ours(login);
    return {
      part: "cold-start",
      tables,
      targets: [
        target("login to first answer over bare fetch", login.get("ours")?.ratio, 1.6, "at most"),
        target("resume to first answer over bare fetch", resume.get("ours")?.ratio, 1.3, "at most"),
        target("login: AWS SDK over ours", times("AWS SDK"), 2, "at least"),
        target("login: boto3 over ours", times("Python boto3"), 4, "at least"),
      ].filter(({ measured }) => Number.isFinite(measured)),
      data: { login: Object.fromEntries(login), resume: Object.fromEntries(resume) },
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
};

/** What people log in with today. One of them knows no client secret and needs a world without. */
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

function ours(summaries: ReadonlyMap<string, Summary>): number {
  return summaries.get("ours")?.median ?? NaN;
}

function target(
  claim: string,
  measured = NaN,
  limit: number,
  wanted: "at most" | "at least",
) {
  return { claim, measured, limit, wanted, unit: " ×" };
}

/** Runs the contenders in turn. */
export async function compete(
  contenders: readonly (Contender | Skipped)[],
  count: number,
): Promise<Map<string, Summary>> {
  const running = contenders.filter(isRunning);
  const samples = await interleave(
    running.map(({ name, program }) => ({
      name,
      measure: async () => (await run(program)).milliseconds,
    })),
    count,
  );
  return compare(samples, running[0]?.name ?? "");
}

/** Times beside peak memory, which is measured in runs of its own. */
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

async function loadedTable(folder: string, peers: boolean): Promise<Table> {
  const scripts = {
    "bare fetch, login": "baseline_login.ts",
    "bare fetch, resume": "baseline_resume.ts",
    "ours": "subjects/ours_login.ts",
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
