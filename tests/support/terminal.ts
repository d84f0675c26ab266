/** Runs programs in a pseudo-terminal. Python makes the terminal, because Deno cannot. */

import { assertEquals } from "@std/assert";
import { MOD_PATH, outputOf } from "./child_deno.ts";
import { serveLocal } from "./local_server.ts";
import { type Lack, lackOf, missingOnWindows, testNeeding } from "./needs.ts";
import { windowsRoot } from "./windows_command.ts";

/** Set by `deno task windows`: programs run on Windows, and the tests type into them from Linux. */
export const ON_WINDOWS: boolean = Deno.env.get("TYPE_INTO") === "windows";

/** The path of the module for programs in a terminal. */
export const TYPED_MOD_PATH: string = ON_WINDOWS
  ? `/${windowsRoot().cli.replace("src/cli.ts", "mod.ts")}`
  : MOD_PATH;

/**
 * Runs a program in a pseudo-terminal. Whenever the next awaited text is on the screen, types the
 * answer that belongs to it, or sends the signal. At the end, reports whether the terminal still echoes
 * and reads lines.
 */
const TYPIST = `
import fcntl, json, os, pty, select, signal, struct, sys, termios, time, urllib.request
dialog, command = json.loads(sys.argv[1]), sys.argv[2:]
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 0, 0, 0))
    os.execvp(command[0], command)
screen, read, deadline = b"", 0, time.time() + float(os.environ.get("TYPIST_S", "120"))
local = urllib.request.build_opener(urllib.request.ProxyHandler({}))
while time.time() < deadline:
    if dialog and dialog[0][0].encode() in screen[read:]:
        read = len(screen)
        answer = dialog.pop(0)[1]
        if isinstance(answer, dict) and "signal" in answer:
            os.kill(child, getattr(signal, answer["signal"]))
        elif isinstance(answer, dict):
            os.write(terminal, local.open(answer["url"]).read())
        else:
            os.write(terminal, answer.encode(errors="surrogateescape"))
    if select.select([terminal], [], [], 0.1)[0]:
        try:
            screen += os.read(terminal, 65536)
        except OSError:
            break
else:
    os.killpg(child, 9)
mode = termios.tcgetattr(terminal)[3]
status = os.waitpid(child, 0)[1]
print(json.dumps({
    "screen": screen.decode(errors="replace"),
    "sane": bool(mode & termios.ECHO and mode & termios.ICANON),
    "signal": status & 127,
    "code": status >> 8,
    "left": len(dialog),
}))
`;

/** What the user of the terminal saw. */
export interface Seen {
  screen: string;
  /** Whether the terminal still echoes and reads lines. */
  sane: boolean;
  /** Number of the signal that ended the program; 0: none. */
  signal: number;
  /** The program's exit status, if no signal ended it. */
  code: number;
  /** Number of answers that were not typed, because their prompts did not appear. */
  left: number;
}

/**
 * An answer to a prompt: a text to type (\udcfc stands for the single byte fc), a function that returns
 * the text once the prompt appears, or a signal to send.
 */
export type Answer = string | (() => string | Promise<string>) | { signal: Deno.Signal };

/**
 * Runs a program in a pseudo-terminal that reports no width, and types each answer as soon as the
 * awaited text is on the screen.
 */
export async function inTerminal(
  command: string[],
  dialog: [awaited: string, answer: Answer][],
  options: { cwd: string; env: Record<string, string> },
): Promise<Seen> {
  await using server = serveLocal(async ({ url }) => {
    const answer = dialog[Number(new URL(url).pathname.slice(1))]?.[1];
    return new Response(typeof answer === "function" ? await answer() : "");
  });
  const lines = dialog.map(([awaited, answer], at) => {
    const url = `${server.origin}/${at}`;
    return [awaited, typeof answer === "function" ? { url } : answer];
  });
  const program = ON_WINDOWS
    ? (await import("../project/windows/windows_console.ts")).consoleCommand(command, options)
    : command;
  const { stdout, stderr } = await outputOf("python3", {
    ...options,
    args: ["-c", TYPIST, JSON.stringify(lines), ...program],
    env: { TERM: "xterm", ...options.env },
  });
  if (!stdout) throw new Error(stderr);
  const { screen, ...others }: Seen = JSON.parse(stdout);
  // A Windows console hides the cursor while it draws.
  // deno-lint-ignore no-control-regex -- the escape sequences are control characters
  return { ...others, screen: ON_WINDOWS ? screen.replaceAll(/\u001b\[\?25[hl]/g, "") : screen };
}

/** Fails unless all answers were typed, the terminal is usable, and the program has this exit status. */
export function assertEnded(seen: Seen, status = 0): void {
  const { code, signal, sane, left } = seen;
  const ended = { code: status, signal: 0, sane: true, left: 0 };
  assertEquals({ code, signal, sane, left }, ended, seen.screen);
}

const lack: Lack | undefined = missingOnWindows("Windows has no pseudo-terminal") ??
  await lackOf("python3", "-c", "import pty");

/** Ctrl-C and signals while a program reads. Wine does not pass on all of them. */
export const NO_INTERRUPTS: Lack | undefined = ON_WINDOWS
  ? { reason: "Wine loses Ctrl-C", installable: false }
  : lack;

/** Added to the names of tests that type into a Windows console. `--filter` selects them by it. */
export const IN_A_CONSOLE = " (in a console of Windows)";

/** Registers a test that types into a terminal. */
export function terminalTest(name: string, fn: () => Promise<void>): void {
  testNeeding(lack, ON_WINDOWS ? name + IN_A_CONSOLE : name, fn);
}
