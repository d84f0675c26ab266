/** Deno's language server, asked as an editor asks it: JSON-RPC over standard input and output. */
import { pathToFileURL } from "node:url";

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
}

/** What an editor shows over the first place of these characters in a script, as text. */
export async function hoverAt(
  characters: string,
  { folder, script, env }: { folder: string; script: string; env: Record<string, string> },
): Promise<string> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["lsp", "--quiet"],
    ...{ cwd: folder, env, stdin: "piped", stdout: "piped", stderr: "null" },
  }).spawn();
  const answers = messagesIn(child.stdout);
  const input = child.stdin.getWriter();
  const send = (message: Message) => {
    const body = new TextEncoder().encode(JSON.stringify({ jsonrpc: "2.0", ...message }));
    return input.write(
      new Uint8Array([
        ...new TextEncoder().encode(`Content-Length: ${body.length}\r\n\r\n`),
        ...body,
      ]),
    );
  };
  const ask = async (id: number, method: string, params: unknown): Promise<unknown> => {
    await send({ id, method, params });
    for (;;) {
      const { value: message } = await answers.next();
      if (message === undefined) throw new Error("The language server ended");
      if (message.method === undefined && message.id === id) return message.result;
      // The server asks, too: for the editor's settings, where Deno must be on.
      if (message.id !== undefined) await send({ id: message.id, result: [{ enable: true }] });
    }
  };
  const uri = pathToFileURL(`${folder}/main.ts`).href;
  const line = script.slice(0, script.indexOf(characters)).split("\n");
  try {
    await ask(1, "initialize", {
      ...{ processId: null, rootUri: pathToFileURL(folder).href, capabilities: {} },
      initializationOptions: { enable: true },
    });
    await send({ method: "initialized", params: {} });
    await send({
      method: "textDocument/didOpen",
      params: { textDocument: { uri, languageId: "typescript", version: 1, text: script } },
    });
    return JSON.stringify(
      await ask(2, "textDocument/hover", {
        textDocument: { uri },
        position: { line: line.length - 1, character: line.at(-1)?.length },
      }),
    );
  } finally {
    // It may still be writing into its cache.
    await ask(3, "shutdown", null);
    await send({ method: "exit" });
    await input.close();
    await answers.return();
    await child.status;
  }
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
