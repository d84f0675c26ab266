import { assertEquals } from "@std/assert";
import { gitIgnores, gitTracking, ignoreAdvice, ignoreInGit } from "../../src/platform/git.ts";
import { inFolder } from "../support/child_deno.ts";
import { withEnvironment } from "../support/environment.ts";
import { lackOf, needing, NOT_ON_WINDOWS, subject } from "../support/needs.ts";
import { signedIn } from "../support/portless.ts";

const NO_CONFIGURATION = {
  GIT_CONFIG_GLOBAL: Deno.build.os === "windows" ? "NUL" : "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
};

/** Runs git without anybody's configuration, and tells whether it succeeded. */
async function git(cwd: string, ...args: string[]): Promise<boolean> {
  const who = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"];
  const env = NO_CONFIGURATION;
  const quiet = { stdin: "null", stdout: "null", stderr: "null" } as const;
  return await new Deno.Command("git", { args: [...who, ...args], cwd, env, ...quiet }).output()
    .then(({ success }) => success);
}

const noGit = await lackOf("git", "--version");

/** A repository in which some files lie before and behind the `.env`, as they would. */
async function withRepository(work: (folder: string) => Promise<void>): Promise<void> {
  await inFolder(async (folder) => {
    const root = `${folder}/project`;
    await Deno.mkdir(`${root}/notebooks/week 1`, { recursive: true });
    await git(root, "init", "-q");
    for (const name of [".dockerignore", ".env.example", "notebooks/ü.txt", "z.env"]) {
      await Deno.writeTextFile(`${root}/${name}`, "x\n");
    }
    await git(root, "add", ".");
    // The git configuration of the user who runs the tests may contain further patterns.
    const env = { ...NO_CONFIGURATION, XDG_CONFIG_HOME: `${folder}/config` };
    await withEnvironment(env, () => work(root));
  });
}

Deno.test(needing(noGit, "gitTracking() finds what git tracks, in any folder"), async () => {
  await withRepository(async (root) => {
    const paths = [`${root}/.env`, `${root}/notebooks/.env`, `${root}/notebooks/week 1/ü1.env`];
    for (const path of paths) await Deno.writeTextFile(path, "A=1\n");
    for (const path of paths) assertEquals(await gitTracking(path), "untracked", path);
    await git(root, "add", "--", ...paths);
    for (const path of paths) assertEquals(await gitTracking(path), "tracked", path);
    // Its name is no pattern.
    assertEquals(await gitTracking(`${root}/notebooks/week 1/ü[1].env`), "untracked");
    await git(root, "rm", "-q", "--cached", "-f", "--", ...paths);
    for (const path of paths) assertEquals(await gitTracking(path), "untracked", path);
  });
});

Deno.test(needing(noGit, "gitIgnores() wants the temporary file ignored, too"), async () => {
  await withRepository(async (root) => {
    const path = `${root}/notebooks/.env`;
    const ignore = (text: string) => Deno.writeTextFile(`${root}/.gitignore`, text);
    assertEquals(await gitIgnores(path), false);
    await ignore(".env\n");
    assertEquals(
      await gitIgnores(path),
      false,
      "git add -A would stage what a killed process left",
    );
    await ignore(`${ignoredLines(path)}\n`);
    assertEquals(await gitIgnores(path), true);
    await Deno.writeTextFile(`${root}/notebooks/.env.example`, "x\n");
    assertEquals(await git(root, "add", "notebooks/.env.example"), true);
    assertEquals(await gitIgnores(`${root}/../.env`), undefined);
  });
});

/** The lines that the advice names. */
function ignoredLines(path: string): string {
  return (/^add the lines? (.+) to .gitignore$/.exec(ignoreAdvice(path))?.[1] ?? "")
    .replace(" and ", "\n");
}

subject(NOT_ON_WINDOWS, "git with links and scripts", (test) => {
  test({
    ...needing(noGit, "gitTracking() looks at the file that a link leads to"),
  }, async () => {
    await withRepository(async (root) => {
      await Deno.writeTextFile(`${root}/../secrets`, "A=1\n");
      await Deno.symlink("../secrets", `${root}/.env`);
      await git(root, "add", ".env");
      assertEquals(await gitTracking(`${root}/.env`), "outside");
      await Deno.writeTextFile(`${root}/notebooks/real.env`, "A=1\n");
      await git(root, "add", "notebooks/real.env");
      await Deno.symlink("project/notebooks/real.env", `${root}/../.env`);
      assertEquals(await gitTracking(`${root}/../.env`), "tracked");
    });
  });

  test({
    ...needing(noGit, "checks with git run no program of a project's configuration"),
  }, async () => {
    await withRepository(async (root) => {
      const ran = () => [...Deno.readDirSync(root)].some(({ name }) => name === "ran");
      const planted = `${root}/planted`;
      await writeProgram(planted, `touch "${root}/ran"`);
      await writeProgram(`${root}/.git/hooks/post-index-change`, `touch "${root}/ran"`);
      await git(root, "config", "core.fsmonitor", planted);
      await git(root, "ls-files");
      await Deno.remove(`${root}/ran`);
      assertEquals([await gitTracking(`${root}/.env`), await gitIgnores(`${root}/.env`)], [
        "untracked",
        false,
      ]);
      assertEquals(ran(), false);
    });
  });

  test("login() and refresh() do not run git", async () => {
    await withPlantedGit(`touch "$RAN_IN/ran"`, async (folder) => {
      await using world = await signedIn({ session: { envFile: `${folder}/.env` } });
      await world.session.refresh();
      assertEquals([...Deno.readDirSync(folder)].some(({ name }) => name === "ran"), false);
    });
  });
});

async function writeProgram(path: string, script: string): Promise<void> {
  await Deno.writeTextFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

/** A folder with a `.git`, and a program that is found in place of git. It knows the folder as RAN_IN. */
async function withPlantedGit(
  script: string,
  work: (folder: string) => Promise<void>,
): Promise<void> {
  await inFolder(async (folder) => {
    await Deno.mkdir(`${folder}/.git`);
    await Deno.mkdir(`${folder}/bin`);
    await writeProgram(`${folder}/bin/git`, `RAN_IN='${folder}'\n${script}`);
    const env = { PATH: `${folder}/bin:${Deno.env.get("PATH")}` };
    await withEnvironment(env, () => work(folder));
  });
}

Deno.test(needing(noGit, "ignoreInGit() adds the lines that are missing, once"), async () => {
  await withRepository(async (root) => {
    const [path, ignoreFile] = [`${root}/.env`, `${root}/.gitignore`];
    await Deno.writeTextFile(ignoreFile, "data");
    assertEquals(await ignoreInGit(path), [".env*", "!.env.example"]);
    assertEquals(await ignoreInGit(path), []);
    assertEquals(await Deno.readTextFile(ignoreFile), "data\n.env*\n!.env.example\n");
    assertEquals(await gitIgnores(path), true);
  });
});
