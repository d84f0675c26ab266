#!/usr/bin/env -S node --
// The command `platform-auth` on a machine that has Node: runs cli.js with the Deno that npm installed
// next to it. Without the "--", Node 20 takes --env-file for an option of its own. On Windows, npm
// copies the "--" into the commands that it creates.
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { join } = require("node:path");
const process = require("node:process");
const { isatty } = require("node:tty");
const { name } = require("./package.json");

const ON_WINDOWS = process.platform === "win32";

/**
 * Finds Deno itself. The command of the package `deno` would start a second Node, and needs an
 * install script, which npm does not run unless the user allows it.
 */
function denoPath() {
  const libc = process.platform === "linux" ? "-glibc" : "";
  const target = `@deno/${process.platform}-${process.arch}${libc}`;
  try {
    return require.resolve(`${target}/${ON_WINDOWS ? "deno.exe" : "deno"}`);
  } catch {
    return fail(
      `the package ${target} is not installed`,
      `run npm install -g --include=optional ${name}, on Linux with glibc, macOS or Windows, x64 or arm64`,
    );
  }
}

function fail(problem, fix) {
  console.error(`platform-auth: Cannot start Deno: ${problem}; ${fix}`);
  process.exit(1);
}

const flags = ["--quiet", "--allow-all", "--no-config"];
const child = spawn(
  denoPath(),
  ["run", ...flags, join(__dirname, "cli.js"), ...process.argv.slice(2)],
  // Deno looks for no update, because each version of this package brings its own Deno.
  { stdio: "inherit", env: { ...process.env, DENO_NO_UPDATE_CHECK: "1" } },
);

// The child handles signals, and this process waits until the child exits. A terminal sends Ctrl-C
// to both processes, so it is not forwarded: a second Ctrl-C would interrupt the child's cleanup.
// On Windows, only a console sends signals, and kill() would end the child without any cleanup.
const hasCtrlC = ON_WINDOWS || [0, 1, 2].some((fd) => isatty(fd));
process.on("SIGINT", () => hasCtrlC || child.kill("SIGINT"));
process.on("SIGTERM", () => child.kill("SIGTERM"));
process.on("SIGHUP", () => child.kill("SIGHUP"));

child.on("error", ({ message }) => fail(message, `install ${name} again`));
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
