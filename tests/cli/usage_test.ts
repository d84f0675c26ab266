import { COMMANDS } from "../../src/cli/commands.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { inFolder, runScript } from "../support/child_deno.ts";
import { inCliWorld } from "../support/cli_world.ts";
import { jwt } from "../support/answers.ts";
import { writeEnv } from "../support/sandbox_env.ts";
import { denoConfig } from "../support/documented_flags.ts";

const misuse: [string[], RegExp][] = [
  [["nothing"], /There is no such command; see: platform-auth --help$/m],
  [["hunter2-hunter2"], /no such command;/],
  [["__proto__"], /no such command;/],
  [["lgoin"], /no such command \(did you mean login\?\)/],
  [["note"], /no such command \(did you mean notebook\?\)/],
  [["download", "/v1/a.csv"], /fetch saves a file with --output; as in: platform-auth fetch \/v1/],
  [["config"], /did you mean init\?/],
  [["whoami"], /did you mean status\?/],
  [["renew"], /did you mean refresh\?/],
  [["demo"], /did you mean sandbox\?/],
  [["jupyter"], /did you mean notebook\?/],
  [["test"], /did you mean doctor\?/],
  [["errors"], /did you mean explain\?/],
  [["Sign-In"], /no such command \(did you mean login\?\)/],
  [["--json", "status"], /Put options after the command, as in: platform-auth status --json/],
  [["--hunter2-hunter2"], /Put options after the command/],
  [["status", "more"], /status takes no words/],
  [["login", "--password=hunter2-hunter2"], /login has no such option; it takes .*--portal, /],
  [["login", "--hunter2-hunter2"], /login has no such option/],
  [["status", "-hunter2"], /status has no such option/],
  [["login", "--usernme", "x"], /login has no option --usernme \(did you mean --username\?\)/],
  [["login", "--user", "x"], /login has no option --user \(did you mean --username\?\)/],
  [["doctor", "--JSON"], /doctor has no option --JSON \(did you mean --json\?\)/],
  [["init", "--form", "x"], /init has no option --form \(did you mean --from\?\)/],
  [["init", "hunter2-hunter2"], /init takes no words/],
  [["notebook", "a", "b"], /notebook takes one file/],
  [["notebook", "hunter2"], /notebook takes a file that ends in \.ipynb/],
  [["login", "hunter2-hunter2"], /login takes no words/],
  [["status", "--json=hunter2"], /--json takes no value/],
  [["init", "--from"], /--from takes a value; see: platform-auth init --help$/m],
  [["init", "--from", "--json"], /--from takes a value/],
  [["fetch", "/v1/a", "--output="], /--output takes a value; see: platform-auth fetch --help$/m],
  [["fetch", "--list", "urls.txt", "--output-dir", ""], /--output-dir takes a value/],
  [["status", "--env-file", ""], /--env-file takes a value/],
  [["fetch", "/v1/a", "--if-exists", "keep"], /--if-exists belongs to --output or --list/],
  [["token", "--min-valid", "soon"], /--min-valid takes a number/],
  [["token", "--min-valid", "-1"], /--min-valid/],
  [["fetch"], /fetch takes one path/],
  [["fetch", "/a", "/b"], /fetch takes one path/],
  [["fetch", "/a", "--header", "hunter2-hunter2"], /--header takes "name: value"/],
  [["fetch", "/a", "--json", "--output", "file"], /either --json or --output/],
  [["fetch", "/a", "--list", "urls.txt"], /fetch takes one path or URL, or --list/],
  [["fetch", "/a", "--output-dir", "data"], /--output-dir and --at belong to --list/],
  [["fetch", "--list", "urls.txt", "-o", "file"], /either --list or --output/],
  [["logout", "--everywhere", "--keep-remote"], /either --everywhere or --keep-remote/],
  [["login", "--portal", "--username", "ada"], /either --portal or --username/],
  [["help", "nothing"], /no such command/],
  [["--versoin"], /no such option \(did you mean --version\?\)/],
  [["explain", "hunter2-hunter2"], /no such code; all codes: platform-auth explain$/m],
  [
    ["explain", "no_sesion"],
    /no such code \(did you mean NO_SESSION\?\); all codes: platform-auth explain$/m,
  ],
  [["explain", "no_session", "timeout"], /explain takes one code/],
];
/** Written behind what a call printed, into both streams. */
const END = "\0";

interface Misused {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Calls the command line with all of them in one process: a start costs more than such a call. */
async function misused(): Promise<Misused[]> {
  const script = `
    import { runCli } from ${JSON.stringify(import.meta.resolve("../../src/cli.ts"))};
    for (const args of ${JSON.stringify(misuse.map(([args]) => args))}) {
      const code = await runCli(args);
      const end = new TextEncoder().encode(${JSON.stringify(END)});
      await Deno.stderr.write(end);
      await Deno.stdout.write(new TextEncoder().encode(code + ${JSON.stringify(END)}));
    }`;
  return await inFolder(async (cwd) => {
    const { stdout, stderr } = await runScript(script, { cwd, flags: ["--allow-read=."] });
    const errors = stderr.split(END);
    return stdout.split(END).slice(0, -1).map((text, at) => {
      const [, printed = "", code] = /^([^]*?)(\d+)$/.exec(text) ?? [];
      return { code: Number(code), stdout: printed, stderr: errors[at] ?? "" };
    });
  });
}

let all: Promise<Misused[]> | undefined;
for (const [index, [args, message]] of misuse.entries()) {
  Deno.test(`platform-auth ${args.join(" ")}: wrong usage, exit status 2`, async () => {
    const { code, stdout, stderr } = (await (all ??= misused()))[index] ?? {};
    assertEquals([code, stdout], [2, ""]);
    assertMatch(stderr ?? "", message);
    assertEquals(stderr?.split("\n").length, 2);
    // What was typed by mistake may be a secret.
    assert(!stderr?.includes("hunter2"));
  });
}

Deno.test("wrong usage ends the process with exit status 2", () =>
  inCliWorld(async ({ run }) => {
    const { code, stdout, stderr } = await run(["nothing"], { flags: ["--allow-read=."] });
    assertEquals([code, stdout, stderr.split("\n").length], [2, "", 2]);
  }));

Deno.test("login --portal without a terminal names another way than the one that was tried", () =>
  inCliWorld(async ({ run }) => {
    const { stderr } = await run(["login", "--portal"]);
    assertMatch(
      stderr,
      /run platform-auth login --portal in a terminal, or pipe .* --stdin \(help/,
    );
  }));

Deno.test("a session that ended names the command that starts another", () =>
  inCliWorld(async ({ run, folder, variables }) => {
    const ended = jwt({ exp: Date.now() / 1_000 - 60, client_id: variables.APP_CLIENT_ID });
    const { PASSWORD: _, ...others } = variables;
    await writeEnv(folder, { ...others, ACCESS_TOKEN: ended });
    const { stdout } = await run(["status"]);
    assertMatch(stdout, / · run platform-auth login\n/);
    const { code, stderr } = await run(["token", "--json"]);
    assertEquals(code, 3);
    assertMatch(JSON.parse(stderr).error.fix, /run platform-auth login/);
  }));

Deno.test("every command has help with examples, which needs no permission", () =>
  inCliWorld(async ({ run }) => {
    const main = await run(["--help"]);
    for (const command of Object.keys(COMMANDS)) {
      assertMatch(main.stdout, new RegExp(`^ {2}${command} `, "m"));
      const own = await run([command, "--help"], { flags: [] });
      assertEquals([own.code, own.stderr], [0, ""], command);
      assertMatch(own.stdout, /^Usage: /m);
      if (command !== "sandbox") assertMatch(own.stdout, /^Examples?:\n {2}.*platform-auth/m);
      const [, part = ""] = own.stdout.split(/^Examples?:\n/m);
      const examples = part.replaceAll(/ \\\n */g, " ").trim().split(/\n */);
      assertEquals(new Set(examples).size, examples.length, command);
      assertEquals(await run(["help", command], { flags: [] }), own);
    }
    assertEquals((await run([])).stdout, main.stdout);
    assertEquals((await run(["-h"])).stdout, main.stdout);
  }));

Deno.test("every help, and the list of codes, fits a terminal of 80 columns", () =>
  inCliWorld(async ({ run }) => {
    const pages = [
      ["--help"],
      ["explain"],
      ...Object.keys(COMMANDS).map((name) => [name, "--help"]),
    ];
    for (const args of pages) {
      const { stdout } = await run(args, { flags: ["--allow-env=INIT_CWD"] });
      const long = stdout.split("\n").filter((line) => [...line].length > 80);
      assertEquals(long, [], args.join(" "));
    }
  }));

Deno.test("sandbox --help names the command that was run", () =>
  inCliWorld(async ({ run }) => {
    const flags = ["--allow-env=INIT_CWD"];
    const usage = async (env: Record<string, string>) =>
      /^Usage: (.*) \[options\]$/m.exec((await run(["sandbox", "--help"], { flags, env })).stdout)
        ?.[1];
    assertEquals(await usage({}), "platform-auth sandbox");
    assertEquals(await usage({ INIT_CWD: "/home/ada/clone" }), "deno task sandbox");
    const wrong = await run(["sandbox", "--prot=1"], { flags });
    assertMatch(wrong.stderr, /\nSee platform-auth sandbox --help\n$/);
  }));

Deno.test("--version tells the version in deno.json", () =>
  inCliWorld(async ({ run }) => {
    assertEquals((await run(["--version"])).stdout, `platform-auth ${denoConfig().version}\n`);
  }));
