import { assertEquals, assertMatch } from "@std/assert";
import { gitTracking } from "../../src/dotenv/git_tracking.ts";
import { inFolder } from "../support/child_deno.ts";
import { portless } from "../support/portless.ts";

/** Runs git without anybody's configuration; `false` where there is none. */
async function git(cwd: string, ...args: string[]): Promise<boolean> {
  const who = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"];
  const env = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  const quiet = { stdin: "null", stdout: "null", stderr: "null" } as const;
  return await new Deno.Command("git", { args: [...who, ...args], cwd, env, ...quiet }).output()
    .then(({ success }) => success, () => false);
}

const ignore = { ignore: !await git(".", "--version") };

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
    await work(root);
  });
}

for (const version of ["2", "3", "4"]) {
  Deno.test(`gitTracking() finds a file in an index of version ${version}`, ignore, async () => {
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
  });
}

Deno.test("gitTracking() finds a file in a repository of SHA-256 names", ignore, async () => {
  await inFolder(async (root) => {
    if (!await git(root, "init", "-q", "--object-format=sha256")) return;
    for (const name of ["a", ".env", "z"]) await Deno.writeTextFile(`${root}/${name}`, "x\n");
    await git(root, "add", ".");
    assertEquals(gitTracking(`${root}/.env`), "tracked");
    assertEquals(gitTracking(`${root}/other.env`), "untracked");
  });
});

Deno.test(
  "gitTracking() finds a file in a second work tree and in a submodule",
  ignore,
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
      await git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", root, "inner");
      assertEquals(gitTracking(`${outer}/inner/.env`), "tracked");
      assertEquals(gitTracking(`${outer}/.env`), "untracked");
    });
  },
);

Deno.test("gitTracking() says ignored, and outside, of what is", ignore, async () => {
  await withRepository(async (root) => {
    await Deno.writeTextFile(`${root}/.gitignore`, ".env\n");
    assertEquals(gitTracking(`${root}/.env`), "ignored");
    assertEquals(gitTracking(`${root}/notebooks/.env`), "ignored");
    assertEquals(gitTracking(`${root}/../.env`), "outside");
  });
});

Deno.test("gitTracking() takes an index that is none for an empty one", ignore, async () => {
  await withRepository(async (root) => {
    await Deno.writeTextFile(`${root}/.env`, "A=1\n");
    await git(root, "add", ".env");
    const whole = Deno.readFileSync(`${root}/.git/index`);
    for (const bytes of [whole.subarray(0, 90), whole.subarray(0, 5), new Uint8Array()]) {
      Deno.writeFileSync(`${root}/.git/index`, bytes);
      assertEquals(gitTracking(`${root}/.env`), "untracked");
    }
  });
});

Deno.test(
  "a .env that git tracks is said once, with the fix, and not any more once it is not",
  ignore,
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
      assertMatch(warnings[0] ?? "", /git tracks .*\/\.env, .* git rm --cached .*\.gitignore/);
      assertEquals(await git(root, "rm", "--cached", envFile), true);
      assertEquals((await world.another({ envFile }).refresh()).warnings, []);
    });
  },
);
