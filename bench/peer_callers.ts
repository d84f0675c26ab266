/** A client that sends a GET with the token and reads the response to its end. */
export interface Caller {
  readonly name: string;
  get(url: string): Promise<ArrayBuffer>;
}

/**
 * Clients from npm that add a header to every call. One that cannot be loaded is reported and left
 * out.
 */
export async function peerCallers(
  token: string,
): Promise<{ callers: Caller[]; skipped: string[] }> {
  const header = `bearer ${token}`;
  const makers: Record<string, () => Promise<Caller["get"]>> = {
    "ky with a hook": async () => {
      const { default: ky } = await import("npm:ky@^1");
      const client = ky.create({
        retry: 0,
        timeout: false,
        hooks: { beforeRequest: [(request) => request.headers.set("authorization", header)] },
      });
      return (url) => client.get(url).arrayBuffer();
    },
    "ofetch": async () => {
      const { ofetch } = await import("npm:ofetch@^1");
      const client = ofetch.create({ headers: { authorization: header }, retry: 0 });
      return (url) => client(url, { responseType: "arrayBuffer" });
    },
    "google-auth-library": async () => {
      const { OAuth2Client } = await import("npm:google-auth-library@^10");
      const client = new OAuth2Client();
      client.setCredentials({ access_token: token });
      return async (url) =>
        (await client.request<ArrayBuffer>({ url, responseType: "arraybuffer" })).data;
    },
  };
  const callers: Caller[] = [];
  const skipped: string[] = [];
  for (const [name, make] of Object.entries(makers)) {
    try {
      callers.push({ name, get: await make() });
    } catch (error) {
      const why = error instanceof Error ? error.message.split("\n")[0] : "it does not load";
      skipped.push(`Skipped: ${name} (${why}).`);
    }
  }
  return { callers, skipped };
}
