import type { ProviderDialect, SettingName } from "./options.ts";

/** The dialects of the two known deployments of the protocol (section 4.1). */
const DIALECTS: Readonly<Record<"vendor" | "aws", ProviderDialect>> = {
  vendor: {
    targetHeader: "X-Vendor-Target",
    service: "VendorIdentityProviderService",
    contentType: "application/x-vendor-json-1.1",
  },
  aws: {
    targetHeader: "X-Amz-Target",
    service: "AWSCognitoIdentityProviderService",
    contentType: "application/x-amz-json-1.1",
    host: "cognito-idp",
    domain: "amazonaws.com",
  },
};

/** The settings that determine the endpoint. */
interface EndpointSettings {
  text(name: SettingName): string | undefined;
  /** The dialect that the option `provider` describes, if the option is an object. */
  readonly ownDialect?: ProviderDialect | undefined;
}

/**
 * Returns the configured dialect, or else the dialect that matches the host; `undefined` for an
 * unknown name.
 */
export function dialectOf(settings: EndpointSettings): ProviderDialect | undefined {
  if (settings.ownDialect) return settings.ownDialect;
  const name = settings.text("provider");
  if (name === "vendor" || name === "aws") return DIALECTS[name];
  if (name !== undefined) return undefined;
  const host = URL.parse(settings.text("authUrl") ?? "")?.hostname ??
    settings.text("providerDomain") ?? "";
  return /(^|\.)amazonaws\.com(\.cn)?$/i.test(host) ? DIALECTS.aws : DIALECTS.vendor;
}

/** Returns the configured token endpoint without checking it, for display and comparison. */
export function endpointText(settings: EndpointSettings): string | undefined {
  const whole = settings.text("authUrl");
  if (whole !== undefined) return whole;
  const dialect = dialectOf(settings);
  const host = settings.text("providerHost") ?? dialect?.host;
  const region = settings.text("region");
  const domain = settings.text("providerDomain") ?? dialect?.domain;
  return host && region && domain ? `https://${host}.${region}.${domain}` : undefined;
}
