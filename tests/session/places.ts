/** The stores of the sessions in a sequence, and the actions of others there. */
import { assertEquals } from "@std/assert";
import type { SessionOptions } from "../../mod.ts";
import { linesOf, type Portless } from "../support/portless.ts";

/** No deadline: not even a busy machine lets a story fail by the time that its store takes. */
export const never = (): AbortSignal => new AbortController().signal;

/** The content, by the keys of a `.env`. */
export type Lines = Record<string, string | undefined>;

export interface Place {
  readonly kind: "file" | "memory";
  /** For a session that is kept there. */
  readonly options: SessionOptions;
  look(): Promise<Lines>;
  /** Another program writes, while others may hold the lock. */
  write(lines: Lines): Promise<void>;
  /** The user adds a line. */
  edit?(text: string): void;
  /** Conditions that always hold. */
  check?(): void;
}

const OURS =
  /^(ACCESS_TOKEN|REFRESH_TOKEN|ACCESS_TOKEN_EXPIRES_AT|AUTHENTICATED_AT|AUTH_SESSION)=.*\n/gm;

export function inFile({ envFile }: Portless): Place {
  let foreign = "";
  const text = () => Deno.readTextFileSync(envFile);
  Deno.writeTextFileSync(envFile, "", { mode: 0o600 });
  return {
    kind: "file",
    options: {},
    look: () => Promise.resolve(linesOf(envFile)),
    async write(lines) {
      const ours = Object.entries(lines).map(([key, value]) => `${key}=${value}\n`);
      // An editor that saves an empty file leaves a line break, too.
      await Deno.writeTextFile(envFile, foreign + ours.join("") || "\n");
    },
    edit(line) {
      foreign = line + foreign;
      Deno.writeTextFileSync(envFile, line + text());
    },
    check() {
      const theirs = text().replaceAll(OURS, "");
      // An empty file would look like one that an editor is writing, so a logout leaves a line
      // break.
      assertEquals(theirs.replace(/(^|\n)\n$/, "$1"), foreign, "the lines of the user");
    },
  };
}

/** A session in memory contains the provider's latest response. */
export function inMemory({ options, sandbox }: Portless): Place {
  let last: Lines = {};
  const plain = options.fetch ?? fetch;
  return {
    kind: "memory",
    options: {
      envFile: false,
      fetch: async (input, init) => {
        const answer = await plain(input, init);
        if (new URL(new Request(input).url).origin === sandbox.authUrl && answer.ok) {
          const { AuthenticationResult: result } = await answer.clone().json();
          const { REFRESH_TOKEN: before } = last;
          last = { ACCESS_TOKEN: result.AccessToken, REFRESH_TOKEN: result.RefreshToken ?? before };
        }
        return answer;
      },
    },
    look: () => Promise.resolve(last),
    write: () => Promise.resolve(),
  };
}
