/**
 * The demo that `deno task demo` runs: a session with a sandbox, step by step, each step checked. It
 * may import `mod.ts` and `src/sandbox/mod.ts`, as a user does, and nothing else of this project.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { SESSION_STEPS } from "./session_steps.ts";
import { SIGN_IN_STEPS } from "./sign_in_steps.ts";
import { type DemoStep, errorText, walkStep } from "./step.ts";
import { NotHeld, Transcript } from "./transcript.ts";
import { type DemoWorld, makeClock, openWorld } from "./world.ts";
import { startSandbox } from "../sandbox/mod.ts";

const STEPS: readonly DemoStep[] = [...SIGN_IN_STEPS, ...SESSION_STEPS];

const HELP = `Walks through a session against a sandbox on this machine; no account is needed.

Usage: deno task demo [--break=<step>]

  --break=<step>  spoil the world before a step, to see it fail (exit status 1)
  --help          this text

${stepList()}

Exit status: 0 every step held, 1 one did not, 2 wrong usage. Writes only into a temporary folder,
which is removed at the end.`;

/** What the command line asks for. */
type Invocation = { kind: "help" } | { kind: "walk"; broken: DemoStep | undefined };

/** @throws {TypeError} If the command line is not understood. */
function readArgs(args: string[]): Invocation {
  const { values } = parseArgs({
    args,
    options: { break: { type: "string" }, help: { type: "boolean", short: "h" } },
  });
  if (values.help) return { kind: "help" };
  const name = values.break;
  if (name === undefined) return { kind: "walk", broken: undefined };
  const broken = STEPS.find((step) => step.name === name);
  if (broken === undefined) throw new TypeError(`There is no step "${name}" to break`);
  return { kind: "walk", broken };
}

/** Runs the demo and returns the exit status: 0, 1 a step did not hold, 2 wrong usage. */
export async function runDemo(args: string[]): Promise<number> {
  let invocation: Invocation;
  try {
    invocation = readArgs(args);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${stepList()}`);
    return 2;
  }
  if (invocation.kind === "help") {
    console.log(HELP);
    return 0;
  }
  const transcript = new Transcript(errorText);
  try {
    return await start(transcript, invocation.broken);
  } catch (error) {
    if (!(error instanceof NotHeld)) throw error;
    transcript.failure("The start", error);
    return 1;
  }
}

async function start(transcript: Transcript, broken: DemoStep | undefined): Promise<number> {
  const clock = makeClock();
  transcript.heading("A session with the data platform");
  await using sandbox = await transcript.run(
    "const sandbox = await startSandbox({ accessTokenSeconds: 300, rotateRefreshTokens: true })",
    () => startSandbox({ accessTokenSeconds: 300, rotateRefreshTokens: true, now: clock.now }),
    ({ authUrl, apiUrl }) => `identity provider ${authUrl} · API ${apiUrl}`,
  );
  const interrupted = () => void sandbox.close().finally(() => Deno.exit(130));
  Deno.addSignalListener("SIGINT", interrupted);
  try {
    const world = await transcript.run(
      "configure(sandbox.settings)",
      () => openWorld(sandbox, clock),
      ({ envFile }) => `the session is kept in ${envFile}`,
    );
    return await walkAll(world, transcript, broken);
  } finally {
    Deno.removeSignalListener("SIGINT", interrupted);
  }
}

async function walkAll(
  world: DemoWorld,
  transcript: Transcript,
  broken: DemoStep | undefined,
): Promise<number> {
  for (const [index, step] of STEPS.entries()) {
    transcript.heading(`${index + 1}. ${step.title}`, `(${step.name})`);
    transcript.text(step.text);
    if (step === broken) {
      transcript.text(`Broken on purpose: ${step.broken}.`);
      step.breakWorld(world);
    }
    const notHeld = await walkStep(step, world, transcript);
    transcript.requests(world.sandbox);
    if (notHeld !== undefined) {
      transcript.failure(`Step ${index + 1} (${step.name})`, notHeld);
      return 1;
    }
  }
  transcript.success(`All ${STEPS.length} steps held.`);
  return 0;
}

function stepList(): string {
  const width = Math.max(...STEPS.map((step) => step.name.length));
  const lines = STEPS.map((step) => `  ${step.name.padEnd(width)}  ${step.broken}`);
  return `Steps, and what --break=<step> does:\n${lines.join("\n")}`;
}

if (import.meta.main) Deno.exit(await runDemo(Deno.args));
