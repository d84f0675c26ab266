import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import * as aq from "arquero";
import { table } from "../../src/notebook/mod.ts";
import { tableBundle, type TableOptions } from "../../src/notebook/table.ts";
import { inFolder, runScript } from "../support/child_deno.ts";

const text = (...args: Parameters<typeof tableBundle>) => tableBundle(...args)["text/plain"];
const html = (...args: Parameters<typeof tableBundle>) => String(tableBundle(...args)["text/html"]);

/** The texts of the cells, row by row, as a front end would show them. */
function cellsOf(markup: string): string[][] {
  return [...markup.matchAll(/<tr[^>]*>(.*?)<\/tr>/gs)].map(([, row = ""]) =>
    [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell = ""]) => cell)
  );
}

const STATIONS = [
  { id: "gull-harbor", elevationM: 6 },
  { id: "snow-pass", elevationM: 2074 },
];
const EXPECTED = [["id", "elevationM"], ["gull-harbor", "6"], ["snow-pass", "2074"]];

/** Has the members of a nodejs-polars frame, which iterates over its columns. */
function polarsFrame(columns: Record<string, unknown[]>): object {
  const [first = []] = Object.values(columns);
  return {
    toRecords: () =>
      first.map((_, at) =>
        Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[at]]))
      ),
    [Symbol.iterator]: () => Object.values(columns).values(),
  };
}

const SOURCES: [what: string, rows: object][] = [
  ["a list of objects", STATIONS],

  ["an object of columns", {
    id: ["gull-harbor", "snow-pass"],
    elevationM: Float64Array.of(6, 2074),
  }],
  [
    "a filtered and sorted Arquero table",
    aq.from([STATIONS[1], { id: "below", elevationM: -1 }, STATIONS[0]])
      .filter(aq.escape((row: { elevationM: number }) => row.elevationM > 0))
      .orderby("elevationM"),
  ],
  [
    "a nodejs-polars frame",
    polarsFrame({ id: ["gull-harbor", "snow-pass"], elevationM: [6, 2074] }),
  ],
];
Deno.test("table() shows lists, columns and data frames", () => {
  for (const [what, rows] of SOURCES) {
    assertEquals(cellsOf(html(rows)), EXPECTED, what);
    assertEquals(
      text(rows),
      "id           elevationM\n-----------  ----------\n" +
        "gull-harbor           6\nsnow-pass          2074\n2 rows, 2 columns",
      what,
    );
  }
});

Deno.test("table() shows 100 columns at most, unless others are requested", () => {
  const names = Array.from({ length: 20_000 }, (_, at) => `gene${at}`);
  const counts = "1 row, 100 of 20,000 columns";
  const row = Object.fromEntries(names.map((name, at) => [name, at]));
  const columns = Object.fromEntries(names.map((name, at) => [name, [at]]));
  for (const rows of [[row], columns]) {
    assertEquals(cellsOf(html(rows))[0]?.length, 100);
    assert(text(rows).endsWith(counts));
    assert(text(rows).length < 2_000);
  }
  assertEquals(cellsOf(html([row], { columns: ["gene19999"] })), [["gene19999"], ["19999"]]);
});

Deno.test("table() shows the first rows and the number of all rows", () => {
  const many = Array.from({ length: 8760 }, (_, hour) => ({ hour, height: 2 * hour }));
  const columns = { hour: many.map(({ hour }) => hour), height: many.map(({ height }) => height) };
  for (const rows of [many, columns, polarsFrame(columns)]) {
    const markup = html(rows, { rows: 2 });
    assertEquals(cellsOf(markup), [["hour", "height"], ["0", "0"], ["1", "2"]]);
    assertStringIncludes(markup, ">the first 2 of 8,760 rows, 2 columns<");
  }
  assertEquals(cellsOf(html(many)).length, 51);
  assertEquals(cellsOf(html(many, { rows: Infinity })).length, 8761);
});

const DATES = {
  time: new Date(Date.UTC(2025, 6, 7, 10)),
  exact: new Date(5),
  never: new Date(NaN),
};
const OTHERS = {
  third: 1 / 3,
  flag: false,
  nested: { list: [1, "a"] },
  duration: { toString: () => "P1D" },
};

const CELLS: [what: string, rows: object, options: TableOptions, cells: string[][]][] = [
  ["lists", [[1, "a"], [2]], {}, [["0", "1"], ["1", "a"], ["2", ""]]],
  ["named", [["a", 1, 2]], { columns: ["t", "v", "v"] }, [["t", "v", "v"], ["a", "1", "2"]]],
  ["single values", ["a", null, "b"], {}, [["value"], ["a"], ["null"], ["b"]]],
  // The numbers of a column have the same number of decimals.
  ["numbers", [29.2, 27, NaN, 12n], {}, [["value"], ["29.2"], ["27.0"], ["NaN"], ["12"]]],
  ["a rounded sum", [0.1 + 0.2], {}, [["value"], ["0.3"]]],
  ["gaps", [{ a: 1 }, { b: null, a: 2 }, {}], {}, [["a", "b"], ["1", ""], ["2", "null"], ["", ""]]],
  ["some columns", STATIONS, { columns: ["elevationM"] }, [["elevationM"], ["6"], ["2074"]]],
  ["dates", [DATES], {}, [
    ["time", "exact", "never"],
    ["2025-07-07T10:00:00Z", "1970-01-01T00:00:00.005Z", "Invalid Date"],
  ]],
  ["others", [OTHERS], {}, [
    ["third", "flag", "nested", "duration"],
    ["0.333333", "false", "{ list: [ 1, &quot;a&quot; ] }", "P1D"],
  ]],
];

Deno.test("table() shows lists, numbers, dates, objects and missing values as readable text", () => {
  for (const [what, rows, options, cells] of CELLS) {
    assertEquals(cellsOf(html(rows, options)), cells, what);
  }
});

Deno.test("table() shows caption and counts, and aligns numbers in plain text", () => {
  const options = { columns: ["elevationM"], caption: "Heights <m>" };
  const markup = html(STATIONS, options);
  assertStringIncludes(markup, ">Heights &lt;m&gt;</div>");
  assertStringIncludes(markup, ">2 rows, 1 of 2 columns<");
  assertMatch(text(STATIONS, options), /^Heights <m>\nelevationM\n/);
  assertEquals(text([], { columns: ["a", "b"] }), "a  b\n-  -\n0 rows, 2 columns");
  assertEquals(text([10.25, 9]).split("\n").slice(2, 4), ["10.25", " 9.00"]);
});

Deno.test("table() shows markup and control characters of the data as text", () => {
  const rows = [{ "<b>": "<script>alert(1)</script>", long: "<i>".repeat(50) + "\x1b[2J" }];
  const markup = html(rows);
  assertEquals(markup.match(/<(script|b|i)>/), null);
  assertStringIncludes(markup, "&lt;script&gt;alert(1)&lt;/script&gt;");
  assertEquals((markup + text(rows)).includes("\x1b"), false);
});

Deno.test("table() shortens a long text, and a click shows all of it", () => {
  const long = Array.from({ length: 40 }, (_, at) => `word${at}`).join("\n");
  const [, [cell = ""] = []] = cellsOf(html([{ long }]));
  const [, summary, all] = /<summary[^>]*>(.*?)<\/summary><div[^>]*>(.*)<\/div>/.exec(cell) ?? [];
  assertEquals(summary?.length, 61);
  assertEquals(summary?.slice(0, 12), "word0 word1 ");
  assertEquals(all?.replaceAll("<br>", "\n"), long);
  assertEquals(text([{ long }]).split("\n")[2], `${long.replaceAll("\n", " ").slice(0, 40)}…`);
});

Deno.test("as plain text, table() is 80 characters wide and lists the columns that do not fit", () => {
  const names = Array.from({ length: 12 }, (_, at) => `column number ${at}`);
  const lines = text([Object.fromEntries(names.map((name) => [name, 1]))]).split("\n");
  assertEquals(lines.slice(0, 3).every((line) => line.length <= 80), true);
  assertEquals(lines[3], `further columns: ${names.slice(4).join(", ")}`);
});

const NO_ROWS: [what: string, given: unknown, options: object | undefined, why: string][] = [
  ["a page of an API", { items: STATIONS, total: 2 }, {}, 'are in its member "items"'],
  ["one object", { id: "gull-harbor" }, {}, "use show()"],
  ["a text", "gull-harbor", {}, "not string"],
  ["a promise", Promise.resolve(STATIONS), {}, "await it first"],
  ["a wrong column", STATIONS, { columns: ["elevationm"] }, 'did you mean "elevationM"?'],
  ["columns as console.table() takes them", STATIONS, ["id"], "takes an options object"],
  ["a mistyped option", STATIONS, { row: 3 }, 'did you mean "rows"?'],
  ["a negative number of rows", STATIONS, { rows: -1 }, "zero or more"],
];
Deno.test("table() refuses wrong values and options, and says what to do", () => {
  for (const [what, given, options, why] of NO_ROWS) {
    // table() must throw at once: without `await`, a rejected promise would end the kernel.
    assertThrows(() => table(given as object, options), TypeError, why, what);
  }
});

Deno.test("table() and show() print text in a script", () =>
  inFolder(async (cwd) => {
    const [module, errors] = ["notebook/mod.ts", "errors/errors.ts"]
      .map((path) => import.meta.resolve(`../../src/${path}`));
    const problem = `Cannot read ${"word ".repeat(15)}.env`;
    const script = `
    import { show, table } from "${module}";
    import { ConfigError } from "${errors}";
    await table([{ a: 1 }]);
    await show({ b: [2] });
    await show("${"word ".repeat(20)}");
    // The problem, the fix and the reference are on separate lines.
    await show(new ConfigError("ENV_FILE", "${problem}", "run login()"));`;
    const { code, stdout, stderr } = await runScript(script, { cwd });
    assertEquals([code, stderr], [0, ""]);
    assertEquals(
      stdout,
      "a\n-\n1\n1 row, 1 column\n{ b: [ 2 ] }\n" +
        `${"word ".repeat(16).trim()}\n${"word ".repeat(4).trim()}\n` +
        `ConfigError ENV_FILE: Cannot read ${"word ".repeat(5).trim()}\n` +
        `${"word ".repeat(10)}.env\n→ run login()\n  (help: platform-auth explain ENV_FILE)\n`,
    );
  }));
