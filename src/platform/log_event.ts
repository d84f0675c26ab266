import type { AuthErrorCode } from "../errors/codes.ts";

/**
 * Something that a session did, as the option `log` receives it. No event contains a secret, a
 * header or a body. Milliseconds are rounded.
 */
export type LogEvent =
  | {
    /**
     * The settings were read for the first time, a setting now comes from another place, or the
     * `.env` was created or removed.
     */
    readonly event: "settings";
    /** Absolute path of the `.env`; absent if there is no `.env`. */
    readonly file?: string;
    /** Whether the `.env` exists. */
    readonly exists: boolean;
    /** The source of each setting, by the name of its variable. Values are not included. */
    readonly origins: Readonly<Record<string, "option" | "environment" | "file">>;
  }
  | {
    /** A refresh ended. */
    readonly event: "refresh";
    /**
     * The reason for the refresh.
     *
     * - `due`: there was no valid access token.
     * - `early`: the access token was about to expire.
     * - `forced`: `refresh()` was called.
     * - `rejected`: the API rejected the access token with a 401.
     */
    readonly reason: "due" | "early" | "forced" | "rejected";
    /**
     * The result of the refresh.
     *
     * - `refreshed`: the provider issued new tokens.
     * - `served`: another process or call had already refreshed the session.
     * - `canceled`: the call was canceled.
     * - `failed`: an error without a code ended the refresh.
     * - Any other text: the code of the error.
     */
    readonly outcome: "refreshed" | "served" | "canceled" | "failed" | AuthErrorCode;
    /** Duration, including waits. */
    readonly milliseconds: number;
  }
  | {
    /** A login succeeded. */
    readonly event: "login";
    /**
     * - `password`: the provider issued tokens for a user name and a password.
     * - `portal`: with a portal string.
     * - `kept`: the session was valid and was kept.
     */
    readonly outcome: "password" | "portal" | "kept";
  }
  | {
    /** A logout succeeded. */
    readonly event: "logout";
    /**
     * Where the session was ended: on this computer (`here`), also at the provider, or on all
     * devices (`everywhere`).
     */
    readonly outcome: "here" | "provider" | "everywhere";
  }
  | {
    /** A request received a response or failed. */
    readonly event: "request";
    /** The identity provider or the API. */
    readonly to: "provider" | "api";
    /** The purpose of a request to the provider. */
    readonly flow?: "login" | "challenge" | "refresh" | "device" | "sign-out";
    readonly method: string;
    /** Origin and path. The target of a redirect is shown without its path: `https://host/…`. */
    readonly url: string;
    /** The status of the response; absent if no response arrived. */
    readonly status?: number;
    /** The code of the failure, `canceled`, or `failed` for an error without a code. */
    readonly error?: "API_UNREACHABLE" | "canceled" | "failed" | AuthErrorCode;
    /**
     * Time until the response arrived. For a request to the provider, time until the response was
     * read completely.
     */
    readonly milliseconds: number;
    /** 1 for the first request of a call, higher if the request was repeated. */
    readonly attempt: number;
  }
  | {
    /** A call pauses before it repeats a request. */
    readonly event: "pause";
    /** Length of the pause. */
    readonly pauseMs: number;
    /** Why the request is repeated, such as `the API responded with 503`. */
    readonly reason: string;
  }
  | {
    /** A call had to wait for another process that used the same session. */
    readonly event: "lock";
    /** Duration of the wait. */
    readonly waitedMs: number;
    /** Whether the lock was obtained. */
    readonly isHeld: boolean;
  };

/** The event of one request. */
export type RequestEvent = LogEvent & { readonly event: "request" };
