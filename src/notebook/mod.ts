/**
 * Values, rows and plots under their own cell: a small toolkit for notebooks that needs no session.
 *
 * ```ts ignore
 * import { plot, show, table } from "@platform-auth/platform-auth/notebook";
 *
 * const rows = [{ day: "Mon", rain: 1.5 }, { day: "Tue", rain: 0 }];
 * await show(rows.length);
 * await table(rows);
 * await plot({ marks: (Plot) => Plot.barY(rows, { x: "day", y: "rain" }) });
 * ```
 *
 * Outside a notebook the same calls print text, so that cells can become a script. The folder uses
 * `platform/` and `errors/`, and nothing of a session.
 *
 * @module
 */
export { plot, type PlotOptions } from "./plot.ts";
export { show } from "./show.ts";
export { type ColumnOf, table, type TableOptions } from "./table.ts";
