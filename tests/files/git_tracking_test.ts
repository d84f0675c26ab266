import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  gitIgnores,
  gitTracking,
  ignoreAdvice,
  untrackCommand,
} from "../../src/files/git_tracking.ts";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";
import { lackOf, needing, NO_SHELL, NOT_ON_WINDOWS, subject } from "../support/needs.ts";
import { withEnvironment } from "../support/environment.ts";
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
    // The configuration of whoever runs the tests may name patterns of their own.
    const env = { ...NO_CONFIGURATION, XDG_CONFIG_HOME: `${folder}/config` };
    await withEnvironment(env, () => work(root));
  });
}

for (const version of ["2", "3", "4"]) {
  Deno.test(
    needing(noGit, `gitTracking() finds a file in an index of version ${version}`),
    async () => {
      await withRepository(async (root) => {
        const paths = [`${root}/.env`, `${root}/notebooks/.env`, `${root}/notebooks/week 1/ü.env`];
        for (const path of paths) await Deno.writeTextFile(path, "A=1\n");
        const indexed = () =>
          git(root, "update-index", "--force-write-index", "--index-version", version);
        await indexed();
        for (const path of paths) assertEquals(gitTracking(path), "untracked", path);
        // Only an entry that is meant to be added needs version 3.
        await git(root, "add", ...(version === "3" ? ["-N"] : []), "--", ...paths);
        await indexed();
        const header = Deno.readFileSync(`${root}/.git/index`);
        assertEquals(header[7], Number(version));
        for (const path of paths) assertEquals(gitTracking(path), "tracked", path);
        assertEquals(gitTracking(`${root}/notebooks/week 1/.env`), "untracked");
        await git(root, "rm", "-q", "--cached", "-f", "--", ...paths);
        for (const path of paths) assertEquals(gitTracking(path), "untracked", path);
      });
    },
  );
}

Deno.test(
  needing(noGit, "gitTracking() finds a file in a repository of SHA-256 names"),
  async () => {
    await inFolder(async (root) => {
      assert(
        await git(root, "init", "-q", "--object-format=sha256"),
        "git 2.29 or later is needed",
      );
      for (const name of ["a", ".env", "z"]) await Deno.writeTextFile(`${root}/${name}`, "x\n");
      await git(root, "add", ".");
      assertEquals(gitTracking(`${root}/.env`), "tracked");
      assertEquals(gitTracking(`${root}/other.env`), "untracked");
    });
  },
);

Deno.test(
  needing(noGit, "gitTracking() finds a file in a second work tree and in a submodule"),
  async () => {
    await withRepository(async (root) => {
      await Deno.writeTextFile(`${root}/.env`, "A=1\n");
      await git(root, "add", ".env");
      await git(root, "commit", "-q", "-m", "all");
      const second = `${root}/../second`;
      await git(root, "worktree", "add", "-q", second);
      assertEquals(gitTracking(`${second}/.env`), "tracked");
      assertEquals(gitTracking(`${second}/notebooks/.env`), "untracked");
      const outer = `${root}/../outer`;
      await Deno.mkdir(outer);
      await git(outer, "init", "-q");
      const local = ["-c", "protocol.file.allow=always"];
      const added = await git(outer, ...local, "submodule", "add", "-q", root, "inner");
      // That command of git is a script for a shell.
      assert(added || NO_SHELL);
      if (added) assertEquals(gitTracking(`${outer}/inner/.env`), "tracked");
      assertEquals(gitTracking(`${outer}/.env`), "untracked");
    });
  },
);

Deno.test(needing(noGit, "gitTracking() says outside of what is"), async () => {
  await withRepository((root) => {
    assertEquals(gitTracking(`${root}/../.env`), "outside");
    return Promise.resolve();
  });
});

Deno.test(needing(noGit, "gitTracking() finds a temporary file that git tracks"), async () => {
  await withRepository(async (root) => {
    await Deno.writeTextFile(`${root}/.env`, "A=1\n");
    await Deno.writeTextFile(`${root}/.gitignore`, ".env\n");
    await Deno.writeTextFile(`${root}/.env.tmp`, "ACCESS_TOKEN=left-behind\n");
    assertEquals(gitTracking(`${root}/.env`), "untracked");
    await git(root, "add", "-A");
    assertEquals(gitTracking(`${root}/.env`), "tracked");
    const command = untrackCommand(`${root}/.env`).split(" ");
    assertEquals([command[0], await git(root, ...command.slice(1))], ["git", true]);
    assertEquals(gitTracking(`${root}/.env`), "untracked");
  });
});

/** Places where patterns are kept, with what to write there so that a `.env` and its like are ignored. */
const patterns: Record<string, (root: string, text: string) => Promise<unknown>> = {
  "the .gitignore of its folder": (root, text) =>
    Deno.writeTextFile(`${root}/notebooks/.gitignore`, text),
  "the .gitignore at the root": (root, text) => Deno.writeTextFile(`${root}/.gitignore`, text),
  "info/exclude": async (root, text) => {
    await Deno.mkdir(`${root}/.git/info`, { recursive: true });
    await Deno.writeTextFile(`${root}/.git/info/exclude`, text);
  },
  "the user's own patterns": async (root, text) => {
    await Deno.mkdir(`${root}/../config/git`, { recursive: true });
    await Deno.writeTextFile(`${root}/../config/git/ignore`, text);
  },
  "the file that core.excludesFile names": async (root, text) => {
    await Deno.writeTextFile(`${root}/../ignored`, text);
    await git(root, "config", "core.excludesFile", `${root}/../ignored`);
  },
};
for (const [where, write] of Object.entries(patterns)) {
  Deno.test(needing(noGit, `gitIgnores() knows ${where}`), async () => {
    await withRepository(async (root) => {
      const path = `${root}/notebooks/.env`;
      assertEquals(gitIgnores(path), false);
      await write(root, ".env\n");
      assertEquals(gitIgnores(path), false, "git add -A would stage what a killed process left");
      await write(root, `${ignoredLines(path)}\n`);
      assertEquals(gitIgnores(path), true);
      await Deno.writeTextFile(`${root}/notebooks/.env.example`, "x\n");
      assertEquals(await git(root, "add", "notebooks/.env.example"), true);
    });
  });
}

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
      assertEquals(gitTracking(`${root}/.env`), "outside");
      await Deno.writeTextFile(`${root}/notebooks/real.env`, "A=1\n");
      await git(root, "add", "notebooks/real.env");
      await Deno.symlink("project/notebooks/real.env", `${root}/../.env`);
      assertEquals(gitTracking(`${root}/../.env`), "tracked");
    });
  });

  test({
    ...needing(
      noGit,
      "asking git runs nothing that a project's configuration names",
    ),
  }, async () => {
    await withRepository(async (root) => {
      await Deno.writeTextFile(`${root}/planted`, `#!/bin/sh\ntouch "${root}/ran"\n`, {
        mode: 0o755,
      });
      await git(root, "config", "core.fsmonitor", `${root}/planted`);
      await git(root, "status");
      await Deno.remove(`${root}/ran`);
      assertEquals(gitIgnores(`${root}/.env`), false);
      assertEquals([...Deno.readDirSync(root)].some(({ name }) => name === "ran"), false);
    });
  });
});

Deno.test(needing(noGit, "the advice covers a file of another name"), async () => {
  await withRepository(async (root) => {
    const path = `${root}/team.env`;
    await Deno.writeTextFile(`${root}/.gitignore`, `${ignoredLines(path)}\n`);
    assertEquals([ignoredLines(path), gitIgnores(path)], ["team.env*", true]);
  });
});

Deno.test(needing(noGit, "gitIgnores() says nothing outside a work tree"), async () => {
  await withRepository((root) => {
    assertEquals(gitIgnores(`${root}/../.env`), undefined);
    return Promise.resolve();
  });
});

Deno.test("gitIgnores() asks nobody without the permission to run git", async () => {
  await inFolder(async (cwd) => {
    const module = JSON.stringify(MOD_PATH.replace("mod.ts", "src/files/git_tracking.ts"));
    const script = `import { gitIgnores } from ${module};
      console.log(gitIgnores(${JSON.stringify(`${cwd}/.env`)}));`;
    const { stdout, stderr } = await runScript(script, { cwd, flags: ["--allow-read"] });
    assertEquals([stderr, stdout], ["", "undefined\n"]);
  });
});

Deno.test(
  needing(noGit, "gitTracking() takes an index that is none for an empty one"),
  async () => {
    await withRepository(async (root) => {
      await Deno.writeTextFile(`${root}/.env`, "A=1\n");
      await git(root, "add", ".env");
      const whole = Deno.readFileSync(`${root}/.git/index`);
      for (const bytes of [whole.subarray(0, 90), whole.subarray(0, 5), new Uint8Array()]) {
        Deno.writeFileSync(`${root}/.git/index`, bytes);
        assertEquals(gitTracking(`${root}/.env`), "untracked");
      }
    });
  },
);

Deno.test(
  needing(
    noGit,
    "a .env that git tracks is said once, with the fix, and not any more once it is not",
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
      assertEquals((await world.another({ envFile }).refresh()).warnings, []);
    });
  },
);
