import { assertEquals } from "@std/assert";
import { gitIgnores, gitTracking, ignoreAdvice } from "../../src/platform/git.ts";
import { inFolder, namesIn } from "../support/child_deno.ts";
import { withEnvironment } from "../support/environment.ts";
import { lackOf, needing, NO_SHELL, NOT_ON_WINDOWS, subject } from "../support/needs.ts";
import { signedIn } from "../support/portless.ts";

const NO_CONFIGURATION = {
  GIT_CONFIG_GLOBAL: Deno.build.os === "windows" ? "NUL" : "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
};

/** Runs git without any configuration; returns whether it succeeded. */
async function git(cwd: string, ...args: string[]): Promise<boolean> {
  const who = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"];
  const env = NO_CONFIGURATION;
  const quiet = { stdin: "null", stdout: "null", stderr: "null" } as const;
  return await new Deno.Command("git", { args: [...who, ...args], cwd, env, ...quiet }).output()
    .then(({ success }) => success);
}

const noGit = await lackOf("git", "--version");

/** A repository with files whose names sort before and after `.env`. */
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

Deno.test(
  needing(noGit, "gitTracking() returns whether git tracks a file, in any folder"),
  async () => {
    await withRepository(async (root) => {
      const paths = [`${root}/.env`, `${root}/notebooks/.env`, `${root}/notebooks/week 1/ü1.env`];
      for (const path of paths) await Deno.writeTextFile(path, "A=1\n");
      for (const path of paths) assertEquals(await gitTracking(path), "untracked", path);
      await git(root, "add", "--", ...paths);
      for (const path of paths) assertEquals(await gitTracking(path), "tracked", path);
      // git must not treat the brackets as a pattern.
      assertEquals(await gitTracking(`${root}/notebooks/week 1/ü[1].env`), "untracked");
      await git(root, "rm", "-q", "--cached", "-f", "--", ...paths);
      for (const path of paths) assertEquals(await gitTracking(path), "untracked", path);
    });
  },
);

Deno.test(
  needing(noGit, "gitIgnores() returns true only if git also ignores the .env's temporary file"),
  async () => {
    await withRepository(async (root) => {
      const path = `${root}/notebooks/.env`;
      const ignore = (text: string) => Deno.writeTextFile(`${root}/.gitignore`, text);
      assertEquals(await gitIgnores(path), false);
      await ignore(".env\n");
      // A killed process leaves its temporary file, which git add -A would stage.
      assertEquals(await gitIgnores(path), false);
      await ignore(`${ignoredLines(path)}\n`);
      assertEquals(await gitIgnores(path), true);
      await Deno.writeTextFile(`${root}/notebooks/.env.example`, "x\n");
      assertEquals(await git(root, "add", "notebooks/.env.example"), true);
      assertEquals(await gitIgnores(`${root}/../.env`), undefined);
    });
  },
);

/** The lines that the advice says to add to .gitignore. */
function ignoredLines(path: string): string {
  return (/^add the lines? (.+) to .gitignore$/.exec(ignoreAdvice(path))?.[1] ?? "")
    .replace(" and ", "\n");
}

subject(NOT_ON_WINDOWS, "git with links and scripts", (test) => {
  test(needing(noGit, "gitTracking() follows a symbolic link"), async () => {
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

  test(needing(noGit, "the git checks run no program that a project configures"), async () => {
    await withRepository(async (root) => {
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
      assertEquals(namesIn(root).includes("ran"), false);
    });
  });

  test(needing(NO_SHELL, "login() and refresh() do not run git"), () =>
    inFolder(async (folder) => {
      await Deno.mkdir(`${folder}/.git`);
      await writeProgram(`${folder}/git`, `touch "${folder}/ran"`);
      await withEnvironment({ PATH: `${folder}:${Deno.env.get("PATH")}` }, async () => {
        await using world = await signedIn({ session: { envFile: `${folder}/.env` } });
        await world.session.refresh();
        assertEquals(namesIn(folder).includes("ran"), false);
        await world.session.doctor();
      });
      assertEquals(namesIn(folder).includes("ran"), true, "doctor() runs this git");
    }));
});

async function writeProgram(path: string, script: string): Promise<void> {
  await Deno.writeTextFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}
