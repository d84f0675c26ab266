import { inKernel } from "../errors/advice.ts";
import { shortened } from "../errors/lines.ts";
import { isDumbTerminal, terminalColumns } from "./terminal.ts";

/** A line that shows the progress of a call, as an output of the cell or in the terminal. */
export interface LiveLine {
  /** Replaces the text of the line. Resolves when the new text has been sent to the front end. */
  show(text: string): Promise<void>;
  /** Removes the line. */
  remove(): Promise<void>;
}

/**
 * Makes a line under the cell of a notebook or on the terminal. Returns `undefined` if the process
 * has neither a cell nor a terminal.
 */
export function liveLine(): LiveLine | undefined {
  if (inKernel()) return cellLine();
  return Deno.stderr.isTerminal() && !isDumbTerminal() ? terminalLine() : undefined;
}

/** Makes an output that is updated in place, even in a saved notebook. */
export function cellLine(): LiveLine {
  const transient = { display_id: crypto.randomUUID() };
  let kind = "display_data";
  const put = async (data: Record<string, string>) => {
    const message = { data, metadata: {}, transient };
    const sent = kind;
    kind = "update_display_data";
    try {
      await Deno.jupyter.broadcast(sent, message);
    } catch {
      // A failure to show the line must not end the call.
    }
  };
  return {
    show: (text) => put({ "text/plain": text }),
    // Both formats are sent empty: classic Jupyter ignores an update without formats, and shows an
    // empty line for an empty text alone.
    remove: () => put({ "text/plain": "", "text/html": "" }),
  };
}

function terminalLine(): LiveLine {
  const put = (text: string) => {
    // The line is shortened to fit into one row, because only the last row of a wrapped line could
    // be removed.
    const line = shortened(text, terminalColumns() - 2);
    Deno.stderr.writeSync(new TextEncoder().encode(`\r\u001b[K${line}`));
    return Promise.resolve();
  };
  return { show: put, remove: () => put("") };
}
