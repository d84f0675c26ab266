import { checkOf, type Exercise } from "./check.ts";

export const exercises = {
  sent: {
    right: (sent) => sent === 2,
    because: "Each attempt brings the account closer to a lock, so a rejected password is never sent again.",
    hints: [
      {
        when: (sent) => sent > 2,
        say: "Then each request was repeated. What would that do to an account that is locked after five failures?",
        example: "8",
      },
      {
        when: (sent) => sent < 2,
        say: "The text in parentheses came from the provider, so it received a request.",
        example: "0",
      },
    ],
    hint: "sandbox.requests lists the requests that the provider received.",
  },
  revoked: {
    right: (status) => status === 200,
    because: "An access token is valid until it expires. Only the way to the next one was closed.",
    hints: [
      {
        when: (status) => status === 401,
        say: "That would be right if the API asked the provider. It only checks the token.",
        example: "401",
      },
      {
        when: (status) => status === 403,
        say: "403 means that the user lacks a permission. The user's permissions have not changed.",
        example: "403",
      },
    ],
    hint: "Which of the two tokens is sent to the API, and which one was revoked?",
  },
  wait: {
    right: (codes) => [...codes].sort().join() === "SERVER_ERROR,THROTTLED",
    because: "After these errors, the module waits and tries again, up to four attempts in total.",
    hints: [
      {
        when: (codes) => codes.includes("REFRESH_REJECTED"),
        say: "An ended session stays ended. Which call starts a new one?",
        example: '["THROTTLED", "REFRESH_REJECTED"]',
      },
      {
        when: (codes) => codes.includes("INVALID_CREDENTIALS"),
        say: "A wrong password will still be wrong tomorrow.",
        example: '["INVALID_CREDENTIALS", "THROTTLED"]',
      },
      {
        when: (codes) => codes.includes("CLIENT_UNKNOWN"),
        say: "Waiting does not create the app client. A setting is wrong.",
        example: '["CLIENT_UNKNOWN", "SERVER_ERROR"]',
      },
    ],
    hint: 'Give a list of two codes: ["…", "…"]. Who has to change something so that it works again?',
  },
  ada: {
    right: (cause) => cause === "SECRET_HASH_REJECTED",
    because: "The hash is computed with the app client secret, so that setting is wrong.",
    hints: [
      {
        when: (cause) => cause === "SECRET_HASH",
        say: "That is what the provider rejected. The code of the error is longer.",
        example: '"SECRET_HASH"',
      },
      {
        when: (cause) => cause === "settings",
        say: "The check says that all settings are set. Which one does the provider reject?",
        example: '"settings"',
      },
      {
        when: (cause) => cause === "session",
        say: "There is none because the login failed. Why did it?",
        example: '"session"',
      },
    ],
    hint: "doctor() finds no problem, so what does the error say? Its code is in capital letters.",
  },
  ben: {
    right: (cause) => cause === "INVALID_PORTAL_TOKEN",
    because: "His clock agrees with the provider's, so the token has really expired.",
    hints: [
      {
        when: (cause) => cause === "clock",
        say: "The error does offer that explanation. What does the check say about his clock?",
        example: '"clock"',
      },
      {
        when: (cause) => cause === "session",
        say: "There is none because the login failed. Why did it?",
        example: '"session"',
      },
    ],
    hint: "The error offers two explanations. doctor() shows which one applies.",
  },
  cleo: {
    right: (cause) => cause === "settings to check",
    because: "The password from the file ends before the #, so a wrong password was sent.",
    hints: [
      {
        when: (cause) => cause === "settings" || cause === ".env",
        say: "That check finds no problem. Another one has a warning about that file.",
        example: '".env"',
      },
      {
        when: (cause) => cause === "INVALID_CREDENTIALS",
        say: 'That is the provider\'s response. What does doctor() mark with a "!"?',
        example: '"INVALID_CREDENTIALS"',
      },
    ],
    hint: "Where does her password come from, and how is it written there?",
  },
  dan: {
    right: (cause) => ["API", "token", "API_BASE_URL"].includes(cause),
    because: "The server at that address is not an API. It sent a page of the portal.",
    hints: [
      {
        when: (cause) => cause === "API_STATUS",
        say: "That is the 404 that he saw. The path is right, but which server received the request?",
        example: '"API_STATUS"',
      },
      {
        when: (cause) => cause === "session",
        say: "His session is valid, as he says. Look at the parentheses in the error.",
        example: '"session"',
      },
    ],
    hint: "An API responds with 401 to a call without a token. How does his server respond?",
  },
  eve: {
    right: (cause) => cause === "clock",
    because: "Her token is new, but her computer's clock is an hour ahead.",
    hints: [
      {
        when: (cause) => cause === "INVALID_PORTAL_TOKEN",
        say: "That was Ben's problem. Note how this sentence begins: by this computer's clock.",
        example: '"INVALID_PORTAL_TOKEN"',
      },
    ],
    hint: "What does doctor() mark for her that it did not mark for Ben?",
  },
} satisfies Record<string, Exercise>;

export const check = checkOf(exercises);
