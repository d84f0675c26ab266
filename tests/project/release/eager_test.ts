import { assertEquals, assertThrows } from "@std/assert";
import { eager } from "../../../.ci/eager.ts";

const METAFILE = { inputs: { "mod.ts": { bytes: 0, imports: [] } }, outputs: {} };
const build = (code: string) => eager(`// mod.ts\n${code}\n`, METAFILE);

Deno.test("eager() puts the functions at the top level in parentheses", () => {
  assertEquals(
    build("function f() {}\nvar t = { f };"),
    "// mod.ts\nvar f = (function() {});\nvar t = { f };\n",
  );
});

const used: Record<string, string> = {
  "in a table": "var t = { check: f };\nfunction f() {}",
  "in a call": "f();\nfunction f() {}",
  "in a function that runs": "function g() { return f(); }\nvar t = g();\nfunction f() {}",
  "in a static member": "var C = class { static x = f(); };\nfunction f() {}",
};
for (const [where, code] of Object.entries(used)) {
  Deno.test(`eager() refuses a function that is used ${where} before its declaration`, () => {
    assertThrows(() => build(code), Error, "uses f() before its line");
  });
}

const named: Record<string, string> = {
  "in a function": "var t = { check: () => f() };\nfunction f() {}",
  "in an instance member": "var C = class { x = f(); y() { f(); } };\nfunction f() {}",
  "as the name of a property": "var t = { f: 1 };\nt.f;\nfunction f() {}",
};
for (const [where, code] of Object.entries(named)) {
  Deno.test(`eager() accepts a function that is mentioned ${where} before its declaration`, () => {
    build(code);
  });
}
