/** Deno's language server, asked as an editor asks it: JSON-RPC over standard input and output. */
import { pathToFileURL } from "node:url";

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
}

/** A text with its address, which need not be a file. */
export interface Text {
  readonly uri: string;
  readonly text: string;
}

/** A running server for the files in a folder. */
export interface LanguageServer extends AsyncDisposable {
  /** Opens a script. */
  open(script: Text): Promise<void>;
  /** Opens a notebook with these cells: one program. */
  openNotebook(uri: string, cells: readonly Text[]): Promise<void>;
  /**
   * The marks of an editor in an open text, one line each: errors, and text that is faded or struck
   * out.
   */
  marks(uri: string): Promise<string[]>;
  /** The hover text of an editor at the first occurrence of these characters in a script. */
  hoverAt(script: Text, characters: string): Promise<string>;
}

/** Starts the server. It is ready for questions. */
export async function startLanguageServer(
  folder: string,
  env: Record<string, string> = {},
): Promise<LanguageServer> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["lsp", "--quiet"],
    cwd: folder,
    env,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const answers = messagesIn(child.stdout);
  const input = child.stdin.getWriter();
  const send = (message: Message) => {
    const body = new TextEncoder().encode(JSON.stringify({ jsonrpc: "2.0", ...message }));
    const head = new TextEncoder().encode(`Content-Length: ${body.length}\r\n\r\n`);
    return input.write(new Uint8Array([...head, ...body]));
  };
  const tell = (method: string, params: unknown) => send({ method, params });
  let lastId = 0;
  const ask = async (method: string, params: unknown): Promise<unknown> => {
    const id = ++lastId;
    await send({ id, method, params });
    for (;;) {
      const { value: message } = await answers.next();
      if (message === undefined) throw new Error("The language server ended");
      if (message.method === undefined && message.id === id) return message.result;
      // The server asks, too: for the editor's settings, where Deno must be on.
      if (message.method !== undefined && message.id !== undefined) {
        await send({ id: message.id, result: [{ enable: true }] });
      }
    }
  };
  await ask("initialize", {
    processId: null,
    rootUri: pathToFileURL(folder).href,
    capabilities: { notebookDocument: { synchronization: {} } },
    initializationOptions: { enable: true },
  });
  await tell("initialized", {});
  return {
    async open({ uri, text }) {
      const textDocument = { uri, languageId: "typescript", version: 1, text };
      await tell("textDocument/didOpen", { textDocument });
    },
    async openNotebook(uri, cells) {
      await tell("notebookDocument/didOpen", {
        notebookDocument: {
          uri,
          notebookType: "jupyter-notebook",
          version: 1,
          cells: cells.map((cell) => ({ kind: 2, document: cell.uri })),
        },
        cellTextDocuments: cells.map((cell) => ({
          ...cell,
          languageId: "typescript",
          version: 1,
        })),
      });
    },
    async marks(uri) {
      const report = await ask("textDocument/diagnostic", { textDocument: { uri } });
      const { items } = report as {
        items: { message: string; range: { start: { line: number } } }[];
      };
      return items.map(({ message, range }) => `line ${range.start.line + 1}: ${message}`);
    },
    async hoverAt({ uri, text }, characters) {
      const before = text.slice(0, text.indexOf(characters)).split("\n");
      return JSON.stringify(
        await ask("textDocument/hover", {
          textDocument: { uri },
          position: { line: before.length - 1, character: before.at(-1)?.length },
        }),
      );
    },
    async [Symbol.asyncDispose]() {
      // It may still be writing into its cache.
      await ask("shutdown", null);
      await send({ method: "exit" });
      await input.close();
      await answers.return();
      await child.status;
    },
  };
}

async function* messagesIn(output: ReadableStream<Uint8Array>): AsyncGenerator<Message, void> {
  let bytes = new Uint8Array();
  for await (const chunk of output) {
    bytes = new Uint8Array([...bytes, ...chunk]);
    for (;;) {
      const text = new TextDecoder("latin1").decode(bytes);
      const [head, length] = /^Content-Length: (\d+)\r\n(?:.+\r\n)*\r\n/.exec(text) ?? [];
      if (head === undefined || bytes.length < head.length + Number(length)) break;
      const end = head.length + Number(length);
      const message = JSON.parse(new TextDecoder().decode(bytes.subarray(head.length, end)));
      bytes = bytes.slice(end);
      yield message;
    }
  }
}
