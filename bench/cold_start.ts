import { compare } from "./interleave.ts";
import { startLoadWorld } from "./load_world.ts";
import { type Part, rounds } from "./part.ts";
import { releasedFolder } from "./released.ts";
import { ratioTarget } from "./report.ts";
import { compete, denoContender, pythonContender, releasedContender, tableOf } from "./subjects.ts";

const LOGIN_ROUNDS = 50;
const RESUME_ROUNDS = 150;

/** The names by which the targets find the subjects. */
const BARE = "bare fetch";
const RELEASED = "ours, released file";
const SOURCE = "ours, source";
const SDK = "AWS SDK";
const BOTO3 = "Python boto3";

/** Whole processes, from start to exit: login to first response, and resume to first response. */
export const coldStart: Part = async (effort) => {
  await using world = await startLoadWorld();
  const env = world.variables;
  const released = `${await releasedFolder()}/mod.js`;
  const folder = await Deno.makeTempDir({ prefix: "bench-" });
  await Deno.writeTextFile(`${folder}/.env`, world.lines, { mode: 0o600 });
  try {
    const logins = [
      await denoContender(BARE, "baseline_login.ts", folder, env),
      await releasedContender(RELEASED, "subjects/ours_login.ts", folder, released),
      await denoContender(SOURCE, "subjects/ours_login.ts", folder),
    ];
    if (effort === "full") {
      logins.push(
        await denoContender(SDK, "subjects/aws_sdk_login.ts", folder, env),
        await pythonContender(BOTO3, "subjects/boto3_login.py", folder, env, "boto3"),
      );
    }
    const loginSamples = await compete(logins, rounds(LOGIN_ROUNDS, effort));
    const login = compare(loginSamples, BARE);
    const besideOurs = compare(loginSamples, RELEASED);
    const resumes = [
      await denoContender(BARE, "baseline_resume.ts", folder),
      await releasedContender(RELEASED, "subjects/ours_resume.ts", folder, released),
      await denoContender(SOURCE, "subjects/ours_resume.ts", folder),
      await denoContender("Deno, empty script", "subjects/import_nothing.ts", folder),
    ];
    const resume = compare(await compete(resumes, rounds(RESUME_ROUNDS, effort)), BARE);
    return {
      part: "cold-start",
      tables: [
        await tableOf("Cold start: login to first API response", logins, login),
        await tableOf("Cold start: resume to first API response", resumes, resume),
      ],
      targets: [
        ...ratioTarget("login, released file, over bare fetch", login.get(RELEASED), 1.5),
        ...ratioTarget("resume, released file, over bare fetch", resume.get(RELEASED), 1.06),
        ...ratioTarget("resume, source, over bare fetch", resume.get(SOURCE), 1.4),
        ...ratioTarget("login: AWS SDK over released file", besideOurs.get(SDK), 2.3, "at least"),
        ...ratioTarget("login: boto3 over released file", besideOurs.get(BOTO3), 6, "at least"),
      ],
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
};
