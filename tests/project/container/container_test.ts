/**
 * Runs the steps of `binder/Dockerfile` in a minimal Debian, and then a notebook in it. `.ci/run`
 * makes that Debian with `make_root.sh`.
 */
import { assertEquals, assertMatch } from "@std/assert";
import { fileURLToPath } from "node:url";
import { outputOf } from "../../support/child_deno.ts";
import { testNeeding } from "../../support/needs.ts";

const debian = Deno.env.get("CONTAINER_ROOT");
const lack = debian ? undefined : {
  reason: "CONTAINER_ROOT is not set to a folder made by tests/project/container/make_root.sh",
  installable: false,
};

const NOTEBOOK = "notebooks/00_start.ipynb";
const COMMAND = "platform-auth --version && " +
  `jupyter nbconvert --to notebook --execute --output-dir=/tmp --log-level=ERROR ${NOTEBOOK}`;

/** The output of each cell of a notebook, as media types. */
function shownBy(notebook: string): string[][] {
  const { cells }: { cells: { outputs?: { data?: object }[] }[] } = JSON.parse(notebook);
  return cells.map(({ outputs = [] }) => outputs.flatMap(({ data = {} }) => Object.keys(data)));
}

testNeeding(
  lack,
  "binder/Dockerfile makes a machine that runs the command and notebook 00",
  async () => {
    const build = fileURLToPath(new URL("build.sh", import.meta.url));
    const { code, stdout, stderr } = await outputOf(build, { args: [debian ?? "", COMMAND] });
    assertEquals(code, 0, `${stdout}\n${stderr}`);
    const text = await Deno.readTextFile(`${debian}/tmp/00_start.ipynb`);
    assertMatch(text, /Signed in as student/);
    const ours = Deno.readTextFileSync(new URL(`../../../${NOTEBOOK}`, import.meta.url));
    assertEquals(shownBy(text), shownBy(ours));
  },
);
