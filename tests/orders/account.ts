import type { SessionOptions } from "../../src/settings/options.ts";

/** The account of all sessions here. Nothing of it is on this machine, and nothing is kept there. */
export const ACCOUNT: SessionOptions = {
  authUrl: "https://idp.example",
  provider: "aws",
  clientId: "c",
  clientSecret: "",
  userPoolId: "p",
  username: "student",
  password: "joined",
  refreshSecretHash: "omit",
  apiBaseUrl: "https://api.example",
  envFile: false,
  exportEnv: "none",
  timeoutMs: 30_000,
  prompt: () => null,
};
