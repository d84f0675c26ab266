/** Cuts a stream of bytes into lines of text. */
export class TextLineStream extends TransformStream<Uint8Array<ArrayBuffer>, string> {
  constructor() {
    const decoder = new TextDecoder();
    let rest = "";
    super({
      transform(chunk, controller) {
        const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) controller.enqueue(line);
      },
      flush(controller) {
        if (rest !== "") controller.enqueue(rest);
      },
    });
  }
}

/**
 * Reads the output of a server and waits until it reports that it is ready.
 *
 * @returns `drained` resolves when the stream ends.
 */
export async function saysReady(
  stream: ReadableStream<Uint8Array>,
  words: string,
  server: string,
): Promise<{ drained: Promise<void> }> {
  const lines = stream.pipeThrough(new TextLineStream());
  let isReady = false;
  for await (const line of lines.values({ preventCancel: true })) {
    isReady = line.includes(words);
    if (isReady) break;
  }
  if (!isReady) throw new Error(`${server} does not start`);
  return { drained: lines.pipeTo(new WritableStream()) };
}
