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
   * Rereads the settings. Called if they do not allow an address, which the user may have added to
   * the `.env` since the settings were read.
   *
   * @returns The account to use from now on: another one if the settings now belong to another
   * account.
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
  /** Records that the API accepted the tokens that replaced rejected ones. */
  replacementHelped(): void;
}
