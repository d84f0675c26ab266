/** Which vendor's words the token endpoint speaks. */
export type Words = "vendor" | "aws";

/** The header names and constants of section 4.1 in one vendor's words. */
export interface WireWords {
  readonly targetHeader: string;
  readonly service: string;
  readonly contentType: string;
  /** Whether the body must name the user pool (section 2.1); the public words have no such field. */
  readonly userPoolRequired: boolean;
}

export const WIRE_WORDS: Readonly<Record<Words, WireWords>> = {
  vendor: {
    targetHeader: "X-Vendor-Target",
    service: "VendorIdentityProviderService",
    contentType: "application/x-vendor-json-1.1",
    userPoolRequired: true,
  },
  aws: {
    targetHeader: "X-Amz-Target",
    service: "AWSCognitoIdentityProviderService",
    contentType: "application/x-amz-json-1.1",
    userPoolRequired: false,
  },
};
