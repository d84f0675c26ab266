import { VISIBLE_ASCII } from "../platform/secret.ts";
import { isSafeTransport } from "../platform/transport.ts";

/** A setting that a login or a call needs. */
export interface AccountSetting {
  /** The name of the variable. */
  readonly name: string;
  /** The prompt for the setting. */
  readonly question: string;
  /** The setting's label in a reply of the support channel, reduced to lower-case letters. */
  readonly label: RegExp;
}

export const ACCOUNT_SETTINGS: readonly AccountSetting[] = [
  {
    name: "AUTH_URL",
    question: "Address of the token endpoint, https://…:",
    label:
      /^(?:(?:auth|token)(?:url|address)|(?:auth|token)?endpoint(?:url)?|addressofthetokenendpoint|initiateauth|identityprovider)$/,
  },
  {
    name: "APP_CLIENT_ID",
    question: "App client id:",
    label: /^(?:app(?:lication)?)?clientid(?:entifier)?$/,
  },
  {
    name: "APP_CLIENT_SECRET",
    question: 'App client secret (hidden; "none" if the client has none):',
    label: /^(?:(?:app(?:lication)?)?client)?secret$/,
  },
  {
    name: "USER_POOL_ID",
    question: "User pool id:",
    label: /^(?:user)?pool(?:id)?$/,
  },
  {
    name: "API_BASE_URL",
    question: "Base address of the data platform API, https://… (press Enter to set it later):",
    label:
      /^(?:dataplatform)?api(?:base)?(?:url|address|endpoint)?$|^base(?:url|address)(?:ofthe(?:dataplatform)?api)?$/,
  },
];

/** Returns the reason why a value cannot be used; `undefined` if it can be used. */
export function valueProblem(name: string, value: string): string | undefined {
  if (!VISIBLE_ASCII.test(value)) return "it contains a space or an unusual character";
  const isWord = /_(?:ID|SECRET)$/.test(name);
  if (isWord && value.includes("://")) return "it is an address";
  if (!name.endsWith("_URL")) return undefined;
  const url = URL.parse(value);
  if (url === null) return "it is not an address such as https://api.example.com";
  return isSafeTransport(url) ? undefined : "it must begin with https:";
}
