import { assertEquals } from "@std/assert";
import { endsInValue, missingOutputs } from "./notebook.ts";
import { code, notebookOf, value } from "./notebook_builders.ts";

Deno.test("missingOutputs() gives the numbers of cells that should show a value", () => {
  const notebook = notebookOf(
    { cell_type: "markdown", id: "m", metadata: {}, source: "rows" },
    code("const rows = 3;"),
    code("rows;"),
    code("rows", [value({ "text/plain": "3" })]),
    code(""),
    code("await login()"),
  );
  assertEquals(missingOutputs(notebook), [2, 4]);
});

Deno.test("endsInValue() tells values from statements and from calls made for their effect", () => {
  const values = [
    "rows",
    "rows.length;",
    "const a = 1;\na",
    "await login()",
    "status() // who",
    "`${rows.map((row) => `${row};`).join()} rows`;",
    "({ a: 1 });",
    "for (const a of b) {}\nb[0];",
    "new Map([[1, 2]]);",
    "rows\n  .map((row) => row.id)\n  .sort()",
    "await pending;",
    "(rows as number[]).length",
  ];
  const effects = [
    "",
    "// only a note",
    "const a = 1",
    "let a = f();\na = 2",
    "a.b = 3;",
    "count++",
    "configure(sandbox.settings);",
    "await sandbox.close();",
    "console.log(a)",
    "void work()",
    "import { a } from './a.ts'",
    "function f() {\n  return 1;\n}",
    "if (a) {\n  b;\n}",
    "for (const row of rows) row.id;",
    "await Deno.jupyter.display(card)",
    "delete row.id",
  ];
  assertEquals(values.filter((source) => !endsInValue(source)), []);
  assertEquals(effects.filter(endsInValue), []);
});
