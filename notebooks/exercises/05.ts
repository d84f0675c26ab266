import { checkOf, type Exercise } from "./check.ts";

export const exercises = {
  sent: {
    right: (sent) => sent === 2,
    because: "A rejected password is never sent again: each attempt counts towards a lock.",
    hints: [
      {
        when: (sent) => sent > 2,
        say: "Then each was repeated. What would that do to an account that is locked after five?",
        example: "8",
      },
      {
        when: (sent) => sent < 2,
        say: "The words in parentheses are the provider's, so it was asked.",
        example: "0",
      },
    ],
    hint: "sandbox.requests is the list of what the provider received.",
  },
  revoked: {
    right: (status) => status === 200,
    because: "An access token is good until it ends; what was ended is the way to the next one.",
    hints: [
      {
        when: (status) => status === 401,
        say: "So it would be if the API asked the provider. It looks at the token only.",
        example: "401",
      },
      {
        when: (status) => status === 403,
        say: "That is for somebody who may not do this. The user may what they might before.",
        example: "403",
      },
    ],
    hint: "Which of the two tokens goes to the API, and which one was ended?",
  },
  wait: {
    right: (codes) => [...codes].sort().join() === "SERVER_ERROR,THROTTLED",
    because: "With these the module itself waits and asks again, four times, before it gives up.",
    hints: [
      {
        when: (codes) => codes.includes("REFRESH_REJECTED"),
        say: "A session that was ended stays ended. Which call begins a new one?",
        example: '["THROTTLED", "REFRESH_REJECTED"]',
      },
      {
        when: (codes) => codes.includes("INVALID_CREDENTIALS"),
        say: "A wrong password is as wrong tomorrow.",
        example: '["INVALID_CREDENTIALS", "THROTTLED"]',
      },
      {
        when: (codes) => codes.includes("CLIENT_UNKNOWN"),
        say: "An app client that is not there does not come by waiting: a setting is wrong.",
        example: '["CLIENT_UNKNOWN", "SERVER_ERROR"]',
      },
    ],
    hint: 'A list of two codes: ["…", "…"]. Who has to change something so that it goes on?',
  },
  ada: {
    right: (cause) => cause === "SECRET_HASH_REJECTED",
    because: "The hash is made with the app client secret, so that setting is wrong.",
    hints: [
      {
        when: (cause) => cause === "SECRET_HASH",
        say: "That check says that the hash is computed well, with any secret. Look at the error.",
        example: '"SECRET_HASH"',
      },
      {
        when: (cause) => cause === "settings",
        say: "They are all there, as the check says. Which one does the provider dislike?",
        example: '"settings"',
      },
      {
        when: (cause) => cause === "session",
        say: "There is none because the login failed. Why did it?",
        example: '"session"',
      },
    ],
    hint: "doctor() finds nothing wrong, so what does the error say? Its code is in capitals.",
  },
  ben: {
    right: (cause) => cause === "INVALID_PORTAL_TOKEN",
    because: "His clock agrees with the provider's, so the token really has ended.",
    hints: [
      {
        when: (cause) => cause === "clock",
        say: "A good thought: the error offers two ways out. What does that check say of his clock?",
        example: '"clock"',
      },
      {
        when: (cause) => cause === "session",
        say: "There is none because the login failed. Why did it?",
        example: '"session"',
      },
    ],
    hint: "The error offers two ways out. doctor() says which of them is his.",
  },
  cleo: {
    right: (cause) => cause === ".env",
    because: "The password in the file ends before the #, so another one was sent.",
    hints: [
      {
        when: (cause) => cause === "INVALID_CREDENTIALS",
        say: "That is what the provider says. What does doctor() mark with a ! ?",
        example: '"INVALID_CREDENTIALS"',
      },
    ],
    hint: "Where does her password come from, and how is it written there?",
  },
  dan: {
    right: (cause) => ["API", "token", "API_BASE_URL"].includes(cause),
    because: "What answers there is no API: it sent a page of the portal.",
    hints: [
      {
        when: (cause) => cause === "API_STATUS",
        say: "That is what he saw: 404. The path is the right one; who was asked for it?",
        example: '"API_STATUS"',
      },
      {
        when: (cause) => cause === "session",
        say: "That one is good, as he says. Look at what is in parentheses in the error.",
        example: '"session"',
      },
    ],
    hint: "An API answers 401 to a call without a token. What does his answer?",
  },
  eve: {
    right: (cause) => cause === "clock",
    because: "Her token is new; it is her computer that lives an hour later.",
    hints: [
      {
        when: (cause) => cause === "INVALID_PORTAL_TOKEN",
        say: "So it was with Ben. The sentence begins: by this computer's clock.",
        example: '"INVALID_PORTAL_TOKEN"',
      },
    ],
    hint: "What is marked in her doctor() that was not in Ben's?",
  },
} satisfies Record<string, Exercise>;

export const check = checkOf(exercises);
