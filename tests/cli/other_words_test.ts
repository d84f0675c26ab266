/**
 * Sentences are for people. The command line and the doctor run on a copy of the source in which every
 * sentence has other words: exit statuses, fixes and requests must be the same.
 */
import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { COMMANDS } from "../../src/cli/commands.ts";
import { inFolder } from "../support/child_deno.ts";
import { type CliWorld, inCliWorld } from "../support/cli_world.ts";
import { jwt } from "../support/answers.ts";
import { linesOf } from "../support/portless.ts";
import { writeEnv } from "../support/sandbox_env.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Two words with a blank between them. */
const SENTENCE = /[A-Za-z]{2,},? [a-z]{2,}/;

type Literal = ts.StringLiteralLike | ts.TemplateHead | ts.TemplateMiddle | ts.TemplateTail;

function isLiteral(node: ts.Node): node is Literal {
  return ts.isStringLiteralLike(node) || ts.isTemplateHead(node) ||
    ts.isTemplateMiddle(node) || ts.isTemplateTail(node);
}

/** A name of a case, or a text that is compared with another one: other words would change its meaning. */
function isCompared(node: Literal): boolean {
  const { parent } = node;
  if (ts.isLiteralTypeNode(parent) || ts.isCaseClause(parent)) return true;
  if (ts.isBinaryExpression(parent)) {
    return [ts.SyntaxKind.EqualsEqualsEqualsToken, ts.SyntaxKind.ExclamationEqualsEqualsToken]
      .includes(parent.operatorToken.kind);
  }
  if (!ts.isCallExpression(parent) || !ts.isPropertyAccessExpression(parent.expression)) {
    return false;
  }
  const compares = /^(split|includes|startsWith|endsWith|indexOf|lastIndexOf|replace|replaceAll)$/;
  return parent.arguments[0] === node && compares.test(parent.expression.name.text);
}

function literalsIn(source: ts.SourceFile): Literal[] {
  const found: Literal[] = [];
  const visit = (node: ts.Node) => {
    if (isLiteral(node)) found.push(node);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Each word is reversed, and a semicolon is a dash. Names, options and paths stay. */
function otherWords(text: string): string {
  return text.replaceAll("; ", " ~ ")
    .replace(
      /(?<![\w.\-/\\`{"$])[A-Z]?[a-z]{2,}(?![\w\-/\\=({`":]|\.\w)/g,
      (word) => [...word].reverse().join(""),
    );
}

/** The source with other words in its sentences. `tags`: texts that are names of cases somewhere. */
function reworded(source: ts.SourceFile, tags: ReadonlySet<string>): string {
  let text = source.text;
  for (const literal of literalsIn(source).reverse()) {
    const isSentence = SENTENCE.test(literal.text) || literal.text === "; ";
    // Code for another program, such as a script of a store.
    const isCode = literal.text.includes("redis.call");
    if (!isSentence || isCode || isCompared(literal) || tags.has(literal.text)) continue;
    const [start, end] = [literal.getStart(source), literal.getEnd()];
    text = text.slice(0, start) + otherWords(text.slice(start, end)) + text.slice(end);
  }
  return text;
}

function filesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesIn(`${folder}/${name}`) : [`${folder}/${name}`]
  );
}

/** Writes the copy. @returns How many files of it differ. */
async function copyWithOtherWords(root: string, to: string): Promise<number> {
  const paths = [
    ...filesIn(`${root}src`).filter((path) => !path.startsWith(`${root}src/demo/`)),
    ...[`${root}mod.ts`, `${root}.env.example`, `${root}docs/troubleshooting.md`],
  ];
  const texts = new Map(paths.map((path) => [path, Deno.readTextFileSync(path)]));
  const sources = paths
    .filter((path) => path.endsWith(".ts") && !path.startsWith(`${root}src/sandbox/`))
    .map((path) => ts.createSourceFile(path, texts.get(path) ?? "", ts.ScriptTarget.Latest, true));
  const tags = new Set(
    sources.flatMap(literalsIn).filter((it) => ts.isLiteralTypeNode(it.parent)).map((it) =>
      it.text
    ),
  );
  let count = 0;
  for (const source of sources) {
    const text = reworded(source, tags);
    if (text !== source.text) count++;
    texts.set(source.fileName, text);
  }
  texts.set(`${root}deno.json`, '{ "version": "0.0.0", "lock": false }');
  for (const [path, text] of texts) {
    const target = `${to}/${path.slice(root.length)}`;
    await Deno.mkdir(target.replace(/[^/\\]*$/, ""), { recursive: true });
    await Deno.writeTextFile(target, text);
  }
  return count;
}

/** What a program may rely on. */
interface Seen {
  readonly call: string;
  readonly code: number;
  /** Class and code of the error, and whether it says what to do next. */
  readonly error?: unknown;
  /** The doctor's checks: name, level, and whether there is a fix. */
  readonly checks?: unknown;
  readonly state?: unknown;
  /** What the provider was sent, and what it answered. */
  readonly requests: readonly string[];
}

interface Calls extends CliWorld {
  /** Runs a command of the copy or of the source. `--json` is added where it may be. */
  call(args: string[], options?: { env?: Record<string, string>; stdin?: string }): Promise<void>;
}

/** Edits a line of the `.env`. */
async function setLine({ envFile }: CliWorld, name: string, value: string): Promise<void> {
  const text = await Deno.readTextFile(envFile);
  await Deno.writeTextFile(
    envFile,
    text.replace(new RegExp(`^${name}=.*$`, "m"), `${name}=${value}`),
  );
}

function over(world: CliWorld): Promise<void> {
  return setLine(world, "ACCESS_TOKEN_EXPIRES_AT", new Date(Date.now() - 60_000).toISOString());
}

/** Nothing listens there. */
const STORE = "redis://127.0.0.1:1";

const STORIES: Readonly<Record<string, (calls: Calls) => Promise<void>>> = {
  "a session from login to logout": async ({ call }) => {
    await call(["status"]);
    await call(["token"]);
    await call(["login"]);
    await call(["doctor"]);
    await call(["fetch", "/v1/whoami"]);
    await call(["fetch", "/v1/nothing"]);
    await call(["refresh"]);
    await call(["logout", "--everywhere"]);
  },
  "what is missing": async (calls) => {
    await Deno.writeTextFile(calls.envFile, "");
    await calls.call(["login"]);
    await calls.call(["doctor"]);
    await calls.call(["init"]);
    await calls.call(["login", "--portal"]);
  },
  "a wrong password": async (calls) => {
    await setLine(calls, "PASSWORD", "not-the-right-one");
    await calls.call(["login"]);
    await calls.call(["doctor", "--login"]);
  },
  "settings that cannot be used": async (calls) => {
    await setLine(calls, "AUTH_URL", "http://provider.example");
    await calls.call(["login"]);
    await calls.call(["doctor"]);
  },
  "a session that is not saved": async ({ call, variables }) => {
    await call(["login", "--env-file", "missing/.env"], { env: variables });
    await call(["login", "--env-file", "false"], { env: variables });
    await call(["login", "--force"], { env: { AUTH_STORE: STORE, AUTH_TIMEOUT_MS: "800" } });
    await call(["token"], { env: { AUTH_STORE: STORE, AUTH_TIMEOUT_MS: "800" } });
    await call(["doctor"], { env: { AUTH_STORE: STORE, AUTH_TIMEOUT_MS: "800" } });
  },
  "a portal token, and one that ended": async (calls) => {
    const { call, folder, variables } = calls;
    const stdin = await calls.sandbox.portalToken();
    await call(["login", "--portal", "--stdin"], { stdin });
    await call(["refresh"]);
    const ended = jwt({ exp: Date.now() / 1_000 - 60, client_id: variables.APP_CLIENT_ID });
    await call(["login", "--portal", "--stdin"], { stdin: ended });
    await writeEnv(folder, { ...variables, ACCESS_TOKEN: ended });
    await call(["status"]);
    await call(["token"]);
    await call(["doctor"]);
  },
  "a further step": async (calls) => {
    calls.sandbox.addUser({
      username: "ada",
      password: "a-Passw0rd",
      challenge: "EMAIL_OTP",
      email: "ada@example.com",
    });
    await calls.call(["login", "--username", "ada", "--stdin"], { stdin: "a-Passw0rd" });
  },
  "a refused refresh": async (calls) => {
    await calls.call(["login"]);
    await over(calls);
    await setLine(calls, "REFRESH_TOKEN", `${linesOf(calls.envFile).REFRESH_TOKEN}x`);
    await calls.call(["token"]);
    await calls.call(["status"]);
    await calls.call(["doctor"]);
  },
  "failures that pass": async (calls) => {
    calls.sandbox.failures.push({ at: "token", status: 503, times: 2 });
    await calls.call(["login"]);
    calls.sandbox.failures.push({ at: "token", status: 429, times: 1 });
    await calls.call(["refresh"]);
    calls.sandbox.failures.push({ at: "token", drop: "before", times: 1 });
    await calls.call(["refresh"]);
    calls.sandbox.failures.push({ at: "api", drop: "during", times: 1 });
    await calls.call(["fetch", "/v1/stations"]);
    await calls.call(["fetch", "/v1/stations", "--output", "missing/stations.json"]);
  },
  "every command, and wrong usage": async ({ call }) => {
    for (const name of Object.keys(COMMANDS)) if (name !== "sandbox") await call([name]);
    await call(["nothing"]);
    await call(["login", "--usernme"]);
    await call(["explain", "no_session"]);
    await call(["notebook"]);
    await call(["sandbox", "--nothing"]);
  },
};

/** Tells a story on the command line at a path. @returns What a program sees, and what people read. */
async function tell(
  cli: string,
  story: (calls: Calls) => Promise<void>,
): Promise<{ seen: Seen[]; printed: string }> {
  const found: Seen[] = [];
  let printed = "";
  await inCliWorld(async (world) => {
    const call: Calls["call"] = async (args, { env, stdin } = {}) => {
      const before = world.sandbox.requests.length;
      const json = args[0] === "sandbox" || args.includes("--output") ? [] : ["--json"];
      const { code, stdout, stderr } = await world.run([...args, ...json], {
        cli,
        flags: ["-A"],
        ...(env && { env }),
        ...(stdin !== undefined && { stdin }),
      });
      printed += stdout + stderr;
      const { error } = parsed(stderr);
      const { checks, state, diagnosis } = parsed(stdout);
      const listed = checks ?? diagnosis?.checks;
      found.push({
        call: args.join(" "),
        code,
        error: error && [error.name, error.code, Boolean(error.fix)],
        checks: listed?.map((it: Check) => [it.name, it.level, Boolean(it.fix)]),
        state,
        requests: world.sandbox.requests.slice(before).map((it) =>
          `${it.operation} ${it.authFlow ?? ""} ${it.status}`
        ),
      });
    };
    await story({ ...world, call });
  });
  return { seen: found, printed };
}

interface Check {
  readonly name: string;
  readonly level: string;
  readonly fix?: string;
}

// deno-lint-ignore no-explicit-any
function parsed(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

Deno.test("no program reads a sentence: with other words everything is as before", async (test) => {
  await inFolder(async (folder) => {
    const count = await copyWithOtherWords(ROOT, folder);
    assert(count > 40, `${count} files have sentences`);
    for (const [name, story] of Object.entries(STORIES)) {
      await test.step(name, async () => {
        const [here, there] = await Promise.all([
          tell(`${ROOT}src/cli.ts`, story),
          tell(`${folder}/src/cli.ts`, story),
        ]);
        assertEquals(there.seen, here.seen);
        assert(there.printed !== here.printed);
      });
    }
  });
});
