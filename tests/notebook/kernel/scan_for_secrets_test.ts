import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Notebook } from "./notebook.ts";
import {
  code,
  notebookOf,
  printed,
  someOpaqueString,
  someToken,
  thrown,
  value,
} from "./notebook_builders.ts";
import { scanForSecrets } from "./scan_for_secrets.ts";

Deno.test("scanForSecrets() reports the place of each token, but never the token itself", () => {
  const token = someToken();
  const opaque = someOpaqueString(90);
  const planted: [string, Notebook["cells"][number], RegExp][] = [
    ["printed", code("x", [printed(`bearer ${token}\n`)]), /output 1: a bearer token/],
    [
      "colored and cut",
      code("x", [value({ "text/plain": `\u001b[32m${token.slice(0, 20)}\u001b[39m` })]),
      /a token/,
    ],
    ["HTML", code("x", [printed("a\n"), value({ "text/html": `<b>${token}</b>` })]), /output 2/],
    ["JSON", code("x", [value({ "application/json": { token } })]), /a token/],
    ["an error", code("x", [thrown("TypeError", `Invalid header: ${token}`)]), /a token/],
    ["cut", code("x", [printed(`${token.slice(0, 20)}…\n`)]), /a token/],
    ["source", code(`const token = "${token}";`), /cell 1 of the file, source: a token/],
    ["text", { cell_type: "markdown", id: "m", metadata: {}, source: token }, /source: a token/],
    ["opaque", code("x", [printed(opaque)]), /an opaque string of 120 characters/],
    ["metadata", { ...code("x"), metadata: { note: token } }, /metadata: a token/],
  ];
  for (const [name, cell, expected] of planted) {
    const found = scanForSecrets(notebookOf(cell)).join("\n");
    assertMatch(found, expected, name);
    assertEquals(found.includes(token.slice(0, 12)) || found.includes(opaque), false, name);
  }
});

Deno.test("scanForSecrets() finds absolute paths", () => {
  const paths = [
    "/home/ada/data.csv",
    "/tmp/out.json",
    "/root/.env",
    "/Users/ada/x",
    "C:\\Users\\ada",
    "C:/work/x",
    "file:///srv/mod.ts",
  ];
  for (const path of paths) {
    const printedPath = notebookOf(code("x", [printed(`read ${path}\n`)]));
    assertStringIncludes(scanForSecrets(printedPath).join(), "output 1: the absolute path", path);
    const shownPath = notebookOf(code("x", [value({ "application/json": { path } })]));
    assertStringIncludes(scanForSecrets(shownPath).join(), "the absolute path", path);
  }
});
