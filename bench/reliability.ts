/**
 * Exposes this module and two clients from npm to the same network faults, and writes the results
 * into `bench/README.md`: `deno run --no-lock -A bench/reliability.ts`
 */
import { FAULT_CASES, type FaultCase, startFaultyProvider } from "../tests/provider/fault_cases.ts";
import { type StartSubject, SUBJECTS } from "./reliability_peers.ts";

const DOCUMENT = new URL("./README.md", import.meta.url);
const DEADLINE_MS = 10_000;
/** A client without its own time limit is abandoned after this time. */
const PATIENCE_MS = 20_000;
const AT_ONCE = 4;

type Operation = "login" | "refresh";

async function measure(
  each: FaultCase,
  start: StartSubject,
  operation: Operation,
): Promise<string> {
  await using provider = await startFaultyProvider(each, { words: "aws", clientSecret: false });
  const subject = await start(provider, DEADLINE_MS);
  const url = await provider.begin();
  const started = performance.now();
  const patience = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => patience.resolve(undefined), PATIENCE_MS);
  const result = await Promise.race([subject.run(operation, url), patience.promise]);
  clearTimeout(timer);
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  const requests = provider.requests() || result?.attempts;
  const count = requests === undefined ? "–" : `${requests} ×`;
  const outcome = result === undefined ? `still waiting after ${PATIENCE_MS / 1_000} s` : [
    result.outcome.startsWith("ok") ? result.outcome : `\`${result.outcome}\``,
    ...[count, `${seconds} s`],
  ].join(", ");
  return operation === "login" ? outcome : `${outcome}; ${subject.left()}`;
}

async function table(operation: Operation): Promise<string> {
  const names = Object.keys(SUBJECTS);
  const cells = new Map<string, string>();
  const jobs = FAULT_CASES.flatMap((each) => names.map((name) => ({ each, name }))).values();
  const work = async () => {
    for (const { each, name } of jobs) {
      const start = SUBJECTS[name];
      if (start === undefined) continue;
      const cell = await measure(each, start, operation);
      cells.set(`${each.name} ${name}`, cell);
      console.error(`${operation}, ${each.name}, ${name}: ${cell}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const row = (columns: string[]) => `| ${columns.join(" | ")} |`;
  return [
    row(["what happens", ...names]),
    row(["---", ...names.map(() => "---")]),
    ...FAULT_CASES.map((each) =>
      row([each.name, ...names.map((name) => cells.get(`${each.name} ${name}`) ?? "")])
    ),
  ].join("\n");
}

async function main(): Promise<void> {
  let text = await Deno.readTextFile(DOCUMENT);
  for (const operation of ["refresh", "login"] as const) {
    const [begin, end] = [`<!-- ${operation} -->`, `<!-- end of ${operation} -->`];
    const from = text.indexOf(begin) + begin.length;
    const to = text.indexOf(end);
    if (to < from) throw new Error(`Cannot find the place of the table: ${begin}`);
    text = `${text.slice(0, from)}\n\n${await table(operation)}\n\n${text.slice(to)}`;
  }
  await Deno.writeTextFile(DOCUMENT, text);
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "--quiet", DOCUMENT.pathname] }).output();
}

if (import.meta.main) {
  // A client that was abandoned may still hold timers and connections, or reject later.
  globalThis.addEventListener("unhandledrejection", (event) => event.preventDefault());
  await main();
  Deno.exit();
}
