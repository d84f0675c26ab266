/**
 * Runs the steps of `binder/Dockerfile` in a minimal Debian, as a builder of images would, and then a
 * notebook in it. `.ci/run` makes that Debian with `make_root.sh`.
 */
import { assertEquals, assertMatch } from "@std/assert";
import { fileURLToPath } from "node:url";
import { outputOf } from "../../support/child_deno.ts";
import { testNeeding } from "../../support/needs.ts";
import { filledIn, instructionsOf } from "./dockerfile.ts";

const REPOSITORY = fileURLToPath(new URL("../../../", import.meta.url));
const DOCKERFILE = Deno.readTextFileSync(`${REPOSITORY}binder/Dockerfile`);

const debian = Deno.env.get("CONTAINER_ROOT");
const lack = debian ? undefined : {
  reason: "CONTAINER_ROOT is not set to a folder made by tests/project/container/make_root.sh",
  installable: false,
};

/** Variables that this machine needs to reach a registry; the image does not have them. */
const NETWORK = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "HTTPS_PROXY", "https_proxy", "NO_PROXY"];

/** A folder that acts as a machine: each instruction changes it for the next one. */
class Container {
  readonly variables = new Map([
    ["PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
  ]);
  #user = "root";
  #folder = "/";

  constructor(readonly root: string) {
    for (const name of NETWORK) {
      const value = Deno.env.get(name);
      if (value === undefined) continue;
      this.variables.set(name, value.startsWith("/") ? this.#copyIn(value, name) : value);
    }
  }

  /** Copies a file to an unusual path, because packages overwrite the usual one. */
  #copyIn(path: string, name: string): string {
    Deno.copyFileSync(path, `${this.root}/opt/${name}`);
    return `/opt/${name}`;
  }

  async apply(name: string, value: string): Promise<void> {
    const text = filledIn(value, this.variables);
    const [first = "", rest = ""] = text.split(/=(.*)/s);
    switch (name) {
      case "FROM":
        return assertEquals(text, "debian:trixie-slim");
      case "ARG":
      case "ENV":
        this.variables.set(first, rest);
        return;
      case "USER":
        this.#user = text;
        return;
      case "WORKDIR":
        this.#folder = text;
        return;
      case "COPY":
        return await this.#copy(text.split(" ")[1] ?? "");
      case "RUN":
        return await this.run(text);
      case "CMD":
        // The program is not started here, but it must exist.
        return await this.run(`command -v ${JSON.parse(text)[0]}`);
      default:
        throw new Error(`This test does not know ${name}`);
    }
  }

  /** The files that git tracks in the working tree, without settings or builds. */
  async #copy(folder: string): Promise<void> {
    const script = `set -euo pipefail; mkdir -p "$2"
      cd "$1" && git ls-files -co --exclude-standard -z | xargs -0 ls -d 2>/dev/null |
        tar -cf - -T - | tar --no-same-owner -xf - -C "$2"`;
    const args = ["-c", script, "copy", REPOSITORY, `${this.root}${folder}`];
    assertEquals((await outputOf("bash", { args })).code, 0, "the repository could not be copied");
  }

  /** Runs a shell command in the container. */
  async run(line: string): Promise<void> {
    const inside = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
    const shell = ["chroot", `--userspec=${this.#user}`, "/", "sh", "-c"];
    const { code, stdout, stderr } = await outputOf("unshare", {
      args: [...inside, `--root=${this.root}`, ...shell, `cd ${this.#folder} && ${line}`],
      clearEnv: true,
      env: {
        HOME: "/root",
        DEBIAN_FRONTEND: "noninteractive",
        NO_COLOR: "1",
        ...Object.fromEntries(this.variables),
      },
    });
    assertEquals(code, 0, `${line}\n${stdout}\n${stderr}`);
  }

  async megabytes(): Promise<number> {
    return parseInt((await outputOf("du", { args: ["-sxm", this.root] })).stdout);
  }
}

testNeeding(
  lack,
  "binder/Dockerfile makes a machine that runs the command and notebook 00",
  async () => {
    const container = new Container(debian ?? "");
    const started = performance.now();
    const passed = () => Math.round((performance.now() - started) / 1_000);
    const bare = await container.megabytes();
    for (const { name, value } of instructionsOf(DOCKERFILE)) await container.apply(name, value);
    console.log(
      `built in ${passed()} s: ${await container.megabytes()} MB, ${bare} of them Debian's own`,
    );

    await container.run("platform-auth --version");
    const before = passed();
    const notebook =
      "jupyter nbconvert --to notebook --execute --output-dir=/tmp --log-level=ERROR";
    await container.run(`${notebook} notebooks/00_start.ipynb`);
    console.log(`the notebook ran in ${passed() - before} s`);
    const text = await Deno.readTextFile(`${container.root}/tmp/00_start.ipynb`);
    assertMatch(text, /Signed in as student/);
    const ours = await Deno.readTextFile(`${REPOSITORY}notebooks/00_start.ipynb`);
    assertEquals(shownBy(text), shownBy(ours));
  },
);

/** The output of each cell of a notebook, as media types. */
function shownBy(notebook: string): string[][] {
  const { cells }: { cells: { outputs?: { data?: object }[] }[] } = JSON.parse(notebook);
  return cells.map(({ outputs = [] }) => outputs.flatMap(({ data = {} }) => Object.keys(data)));
}
