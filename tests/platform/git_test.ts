import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  gitIgnores,
  gitTracking,
  ignoreAdvice,
  ignoreInGit,
  untrackCommand,
} from "../../src/platform/git.ts";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";
import { withEnvironment } from "../support/environment.ts";
import { lackOf, needing, NOT_ON_WINDOWS, subject } from "../support/needs.ts";
import { createSession } from "../../mod.ts";
import { portless } from "../support/portless.ts";

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

Deno.test(needing(noGit, "gitTracking() finds a temporary file that git tracks"), async () => {
  await withRepository(async (root) => {
    await Deno.writeTextFile(`${root}/.env`, "A=1\n");
    await Deno.writeTextFile(`${root}/.gitignore`, ".env\n");
    await Deno.writeTextFile(`${root}/.env.tmp`, "ACCESS_TOKEN=left-behind\n");
    assertEquals(await gitTracking(`${root}/.env`), "untracked");
    await git(root, "add", "-A");
    assertEquals(await gitTracking(`${root}/.env`), "tracked");
    const command = untrackCommand(`${root}/.env`).split(" ");
    assertEquals([command[0], await git(root, ...command.slice(1))], ["git", true]);
    assertEquals(await gitTracking(`${root}/.env`), "untracked");
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

  test({
    ...needing(noGit, "asking git fetches nothing, whatever a project's configuration says"),
  }, async () => {
    await withRepository(async (root) => {
      await Deno.writeTextFile(`${root}/notebooks/.env`, "A=1\n");
      await git(root, "add", ".");
      await git(root, "commit", "-q", "-m", "all");
      await git(root, "sparse-checkout", "init", "--cone", "--sparse-index");
      const env = { ...NO_CONFIGURATION, LC_ALL: "C" };
      const tree = new TextDecoder().decode(
        (await new Deno.Command("git", { args: ["rev-parse", "HEAD:notebooks"], cwd: root, env })
          .output()).stdout,
      ).trim();
      await Deno.remove(`${root}/.git/objects/${tree.slice(0, 2)}/${tree.slice(2)}`);
      await writeProgram(`${root}/planted`, `touch "${root}/ran"`);
      for (
        const [name = "", value = ""] of [
          ["core.repositoryFormatVersion", "1"],
          ["extensions.partialClone", "origin"],
          ["remote.origin.url", `ext::${root}/planted %S`],
          ["protocol.ext.allow", "always"],
        ]
      ) assert(await git(root, "config", name, value));
      await Deno.mkdir(`${root}/notebooks`, { recursive: true });
      await git(root, "ls-files", "--", "notebooks/.env");
      await Deno.remove(`${root}/ran`);
      await gitTracking(`${root}/notebooks/.env`);
      assertEquals([...Deno.readDirSync(root)].some(({ name }) => name === "ran"), false);
    });
  });

  test("a process asks git at its first save only", async () => {
    await withPlantedGit(`echo "$@" >> "$RAN_IN/log"`, async (folder) => {
      const envFile = `${folder}/.env`;
      const runs = () => Deno.readTextFileSync(`${folder}/log`).trim().split("\n").length;
      await using world = portless({ session: { envFile } });
      await world.session.login();
      assertEquals(runs(), 1);
      for (let count = 0; count < 3; count++) await world.session.refresh();
      await world.another({ envFile }).refresh();
      assertEquals([world.refreshes(), runs()], [4, 1]);
      await world.session.login({ force: true });
      assertEquals(runs(), 1);
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

Deno.test(needing(noGit, "variables of a hook do not lead git to another repository"), async () => {
  await withRepository(async (root) => {
    await Deno.writeTextFile(`${root}/.env`, "A=1\n");
    await git(root, "add", ".env");
    const other = `${root}/../other`;
    await Deno.mkdir(other);
    await git(other, "init", "-q");
    const env = { GIT_DIR: `${other}/.git`, GIT_INDEX_FILE: `${other}/.git/index` };
    await withEnvironment(env, async () => {
      assertEquals(await gitTracking(`${root}/.env`), "tracked");
    });
  });
});

Deno.test(needing(noGit, "the advice covers a file of another name"), async () => {
  await withRepository(async (root) => {
    const path = `${root}/team.env`;
    await Deno.writeTextFile(`${root}/.gitignore`, `${ignoredLines(path)}\n`);
    assertEquals([ignoredLines(path), await gitIgnores(path)], ["team.env*", true]);
  });
});

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

Deno.test(
  needing(noGit, "doctor() does not advise lines for a tracked .env that git ignores"),
  async () => {
    await withRepository(async (root) => {
      const envFile = `${root}/.env`;
      await Deno.writeTextFile(envFile, "A=1\n", { mode: 0o600 });
      await git(root, "add", "-f", ".env");
      const fix = async () => {
        const { checks } = await createSession({ envFile }).doctor();
        return checks.find(({ name }) => name === "version control")?.fix;
      };
      assertMatch(
        `${await fix()}`,
        /^run: git rm .*; add the lines .* to \.gitignore; and log in again/,
      );
      await ignoreInGit(envFile);
      assertMatch(`${await fix()}`, /^run: git rm [^;]*; and log in again if it was pushed$/);
    });
  },
);

Deno.test(
  needing(noGit, "without the permission to run git doctor() skips the check, and says so"),
  async () => {
    await withRepository(async (root) => {
      const script = `import { createSession } from ${JSON.stringify(MOD_PATH)};
      const { checks } = await createSession({ envFile: ${
        JSON.stringify(`${root}/.env`)
      } }).doctor();
      const { level, fix } = checks.find(({ name }) => name === "version control");
      console.log(level, fix);`;
      const { stdout, stderr } = await runScript(script, {
        cwd: root,
        flags: ["--allow-read=.", "--allow-write=."],
      });
      assertEquals(stderr, "");
      assertMatch(stdout, /^skip run with --allow-run=git; or add the lines .* to \.gitignore\n$/);
    });
  },
);

Deno.test(needing(noGit, "git that cannot read its index says unknown"), async () => {
  await withRepository(async (root) => {
    await Deno.writeTextFile(`${root}/.git/index`, "no index");
    assertEquals(await gitTracking(`${root}/.env`), "unknown");
  });
});

Deno.test(
  needing(
    noGit,
    "a .env that git tracks is a warning, until a save finds it fixed",
  ),
  async () => {
    await withRepository(async (root) => {
      const envFile = `${root}/.env`;
      await Deno.writeTextFile(envFile, "A=1\n", { mode: 0o600 });
      await git(root, "add", ".env");
      await git(root, "commit", "-q", "-m", "all");
      await using world = portless({ session: { envFile } });
      await world.session.login();
      await world.session.refresh();
      const { warnings } = world.session.status();
      assertEquals(warnings.length, 1);
      assertMatch(warnings[0] ?? "", /git tracks .*[\\/]\.env, .* git rm --cached .*\.gitignore/);
      assertEquals(await git(root, "rm", "--cached", envFile), true);
      assertEquals((await world.session.login({ force: true })).warnings, []);
    });
  },
);
