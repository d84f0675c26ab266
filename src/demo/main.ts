/**
 * The demo that `deno task demo` runs: a session with a sandbox, step by step, each step checked.
 * It may import `mod.ts` and `src/sandbox/mod.ts`, as a user does, and nothing else of this project.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { SESSION_STEPS } from "./session_steps.ts";
import { SIGN_IN_STEPS } from "./sign_in_steps.ts";
import { type DemoStep, errorText, runStep } from "./step.ts";
import { CheckFailed, Transcript } from "./transcript.ts";
import { type DemoContext, makeClock, makeContext } from "./context.ts";
import { startSandbox } from "../sandbox/mod.ts";

const STEPS: readonly DemoStep[] = [...SIGN_IN_STEPS, ...SESSION_STEPS];

const HELP =
  `Shows a session from the first login to the logout, against a sandbox on this computer. It
needs no account and no settings.

Usage: deno task demo [--break=<step>]

  --break=<step>  cause a fault before this step; the demo then stops there with exit status 1
  --help          print this text

${stepList()}

Exit status: 0 all steps passed, 1 a step failed, 2 wrong usage. The demo writes only to a temporary
folder and removes it at the end.`;

/** What the command line asks for. */
type Invocation = { kind: "help" } | { kind: "run"; broken: DemoStep | undefined };

/** @throws {TypeError} The command line is wrong. */
function readArgs(args: string[]): Invocation {
  const { values } = parseArgs({
    args,
    options: { break: { type: "string" }, help: { type: "boolean", short: "h" } },
  });
  if (values.help) return { kind: "help" };
  const name = values.break;
  if (name === undefined) return { kind: "run", broken: undefined };
  const broken = STEPS.find((step) => step.name === name);
  if (broken === undefined) {
    throw new TypeError(`Cannot break step "${name}": there is no such step`);
  }
  return { kind: "run", broken };
}

/** Runs the demo and returns the exit status: 0, 1 a step failed, 2 wrong usage. */
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
    if (!(error instanceof CheckFailed)) throw error;
    transcript.failure("The start", error);
    return 1;
  }
}

async function start(transcript: Transcript, broken: DemoStep | undefined): Promise<number> {
  const clock = makeClock();
  transcript.heading("A session with the data platform");
  transcript.text(
    "This demo runs an identity provider, a portal and an API on this computer. A line after > is " +
      "code that was run, and ✓ is a check of what it did.",
  );
  await using sandbox = await transcript.run(
    "const sandbox = await startSandbox({ accessTokenSeconds: 300, rotateRefreshTokens: true })",
    () => startSandbox({ accessTokenSeconds: 300, rotateRefreshTokens: true, now: clock.now }),
    ({ authUrl, apiUrl }) => `identity provider ${authUrl} · API ${apiUrl}`,
  );
  const interrupted = () => void sandbox.close().finally(() => Deno.exit(130));
  Deno.addSignalListener("SIGINT", interrupted);
  try {
    const context = await transcript.run(
      "configure(sandbox.settings)",
      () => makeContext(sandbox, clock),
      ({ envFile }) => `the session will be saved in ${envFile}`,
    );
    return await runAll(context, transcript, broken);
  } finally {
    Deno.removeSignalListener("SIGINT", interrupted);
  }
}

async function runAll(
  context: DemoContext,
  transcript: Transcript,
  broken: DemoStep | undefined,
): Promise<number> {
  for (const [index, step] of STEPS.entries()) {
    transcript.heading(`${index + 1}. ${step.title}`, `(${step.name})`);
    transcript.text(step.text);
    if (step === broken) {
      transcript.text(`Fault on purpose: ${step.fault}.`);
      step.causeFault(context);
    }
    const failed = await runStep(step, context, transcript);
    transcript.requests(context.sandbox);
    if (failed !== undefined) {
      transcript.failure(`Step ${index + 1} (${step.name})`, failed);
      return 1;
    }
  }
  transcript.success(`All ${STEPS.length} steps passed.`);
  transcript.text("Next: open notebooks/01_portal_token.ipynb in Jupyter, or VS Code, and run it.");
  return 0;
}

function stepList(): string {
  const width = Math.max(...STEPS.map((step) => step.name.length));
  const lines = STEPS.map((step) => `  ${step.name.padEnd(width)}  ${step.fault}`);
  return `Steps, and the fault that --break=<step> causes:\n${lines.join("\n")}`;
}

if (import.meta.main) Deno.exit(await runDemo(Deno.args));
