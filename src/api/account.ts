/** The session, as calls to the API see it: settings and tokens. */
import type { Advice } from "../errors/advice.ts";
import type { World } from "../platform/world.ts";
import type { Tokens } from "../provider/tokens.ts";
import type { Settings } from "../settings/settings.ts";

/** The account of a call: its settings and its tokens. */
export interface ApiAccount {
  readonly world: World;
  readonly settings: Settings;
  /**
   * Rereads the settings. Called if the settings do not allow an address: the user may have added
   * the address to the `.env` in the meantime.
   *
   * @returns The account that the settings contain now. Use it from now on.
   */
  reread(): ApiAccount;
  /** Returns the tokens if the call can use them without a refresh. */
  fresh(): Tokens | undefined;
  /** Returns valid tokens, refreshed if they are due. */
  tokens(minValidMs?: number, signal?: AbortSignal): Promise<Tokens>;
  /**
   * Replaces tokens that the API has just rejected with a 401. Returns `undefined` if no other
   * tokens are available.
   */
  replaceRejected(rejected: Tokens, signal?: AbortSignal): Promise<Tokens | undefined>;
  /** Whether the API's latest response to the access token was a 401. */
  readonly isRejected: boolean;
  /** Why the refresh after the API's 401 failed; `undefined` if it did not fail. */
  readonly refreshFailure: Advice | undefined;
  /** Records that the API's latest response to these tokens was a 401, or a success. */
  noteResponse(kind: "rejected" | "accepted", tokens: Tokens): void;
  /** Records that the API rejected the old tokens of a call and accepted the new ones. */
  replacementHelped(): void;
}
