import { checkOf, type Exercise } from "./check.ts";

export const exercises = {
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
  ben: {
    right: (cause) => cause === "INVALID_PORTAL_TOKEN",
    because: "His clock agrees with the provider's, so the token has really expired.",
    hints: [
      {
        when: (cause) => cause === "clock",
        say: "The error does offer that explanation. Does doctor() show a difference in his clock?",
        example: '"clock"',
      },
      {
        when: (cause) => cause === "session",
        say: "There is none because the login failed. Why did it?",
        example: '"session"',
      },
    ],
    hint: "The error offers two explanations. doctor() would show a difference if it were the clock.",
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
        say: "That was Ben's problem. Here, doctor() shows a line that it did not show for Ben.",
        example: '"INVALID_PORTAL_TOKEN"',
      },
    ],
    hint: "Which check differs for her, but not for Ben?",
  },
} satisfies Record<string, Exercise>;

export const check = checkOf(exercises);
