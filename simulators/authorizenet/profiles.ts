import { mask } from "../kit/cards.ts";
import { NOT_FOUND, OK, newLetters, shownNumber, textOf } from "./account.ts";
import type { Call, CustomerProfile, Reply } from "./account.ts";
import { accountTypeOf, verdictOn } from "./issuer.ts";
import type { Address, Card, Verdict } from "./issuer.ts";
import { namesOf } from "./transactions.ts";

/** Customer profiles (CIM): a customer with stored cards, checked before they are stored. */

interface Requested {
  merchantCustomerId?: string;
  description?: string;
  email?: string;
  paymentProfiles?: { billTo?: Address; payment: { creditCard: Card } }[];
}

export function createCustomerProfile(call: Call): Reply | "reset" {
  const { account, tools, request } = call;
  const { merchantCustomerId = "", description = "", email = "", paymentProfiles = [] } = request["profile"] as Requested;
  const mode = textOf(call, "validationMode") ?? "none";
  if (merchantCustomerId + description + email === "") {
    return { code: "E00041", text: "One or more fields must contain a value.", members: EMPTY };
  }
  const twin = [...account.profiles.values()].find(
    (profile) => profile.merchantCustomerId === merchantCustomerId && profile.description === description && profile.email === email,
  );
  if (twin) return { code: "E00039", text: `A duplicate record with ID ${twin.customerProfileId} already exists.`, members: EMPTY };

  const customerProfileId = tools.digits(9);
  const profile: CustomerProfile = { customerProfileId, merchantCustomerId, description, email, paymentProfiles: [] };
  const lines: string[] = [];
  let lost = false;
  for (const { billTo = {}, payment } of [paymentProfiles].flat()) {
    const card = payment.creditCard;
    const verdict = verdictOn(card, billTo, 0, false, new Date(tools.now()));
    if (verdict === null) return "reset";
    // Only liveMode asks the issuer: an error of form is an error in every mode.
    const refused =
      verdict.responseCode === "3" ? ["6", "7", "8"].includes(verdict.reason) || mode === "liveMode" : verdict.responseCode !== "1";
    if (refused && (mode === "liveMode" || verdict.responseCode === "3")) {
      record(call, profile, card, billTo, "declined");
      const members = { ...EMPTY, ...(mode !== "none" && { validationDirectResponseList: [directResponse(call, card, verdict)] }) };
      return { code: "E00027", text: verdict.text, members };
    }
    if (mode !== "none") lines.push(directResponse(call, card, verdict));
    profile.paymentProfiles.push({ customerPaymentProfileId: tools.digits(9), card, billTo });
    record(call, profile, card, billTo, "approved");
    lost ||= verdict.lost === true;
  }
  account.profiles.set(customerProfileId, profile);
  const customerPaymentProfileIdList = profile.paymentProfiles.map(({ customerPaymentProfileId }) => customerPaymentProfileId);
  return { ...OK, members: { customerProfileId, ...EMPTY, customerPaymentProfileIdList, validationDirectResponseList: lines }, lost };
}

const EMPTY = { customerPaymentProfileIdList: [], customerShippingAddressIdList: [], validationDirectResponseList: [] };

function record({ tools }: Call, profile: CustomerProfile, card: Card, billTo: Address, outcome: "approved" | "declined"): void {
  tools.record({
    kind: "token",
    id: outcome === "approved" ? profile.customerProfileId : null,
    reference: profile.merchantCustomerId || null,
    outcome,
    card: mask(card.cardNumber),
    details: namesOf(billTo),
  });
}

/** The validation's result as one line: 0 response code, 2 reason, 3 text, 4 auth code, 5 AVS, 6 id, 38 and 39 codes, 50 and 51 card. */
function directResponse({ tools }: Call, card: Card, { responseCode, reason, text, avs, cvv }: Verdict): string {
  const fields = Array.from({ length: 68 }, () => "");
  const approved = responseCode === "1";
  const set: Record<number, string> = {
    0: responseCode,
    1: "1",
    2: reason,
    3: text,
    4: approved ? newLetters(tools, 6) : "",
    5: avs,
    6: responseCode === "3" ? "0" : tools.digits(11),
    7: "none",
    8: "Test transaction for ValidateCustomerPaymentProfile.",
    9: "0.00",
    10: "CC",
    11: "auth_only",
    38: cvv,
    39: "",
    50: shownNumber(card),
    51: accountTypeOf(card),
  };
  for (const [index, value] of Object.entries(set)) fields[Number(index)] = value;
  return fields.join(",");
}

function found(call: Call): CustomerProfile | undefined {
  const { account } = call;
  const [customerProfileId, merchantCustomerId, email] = ["customerProfileId", "merchantCustomerId", "email"].map((name) =>
    textOf(call, name),
  );
  if (customerProfileId !== undefined) return account.profiles.get(customerProfileId);
  return [...account.profiles.values()].find((profile) =>
    merchantCustomerId === undefined ? email !== undefined && profile.email === email : profile.merchantCustomerId === merchantCustomerId,
  );
}

export function getCustomerProfile(call: Call): Reply {
  const profile = found(call);
  call.tools.record({
    kind: "look-up",
    id: profile?.customerProfileId ?? null,
    reference: profile?.merchantCustomerId ?? null,
    outcome: null,
  });
  if (!profile) return NOT_FOUND;
  const { paymentProfiles, customerProfileId, merchantCustomerId, description, email } = profile;
  const shown = paymentProfiles.map(({ customerPaymentProfileId, card, billTo }) => ({
    customerPaymentProfileId,
    payment: { creditCard: { cardNumber: shownNumber(card), expirationDate: "XXXX", cardType: accountTypeOf(card) } },
    customerType: "individual",
    billTo,
  }));
  const members = { paymentProfiles: shown, profileType: "regular", customerProfileId, merchantCustomerId, description, email };
  return { ...OK, members: { profile: members } };
}

export function deleteCustomerProfile(call: Call): Reply {
  const profile = found(call);
  if (!profile) return NOT_FOUND;
  call.account.profiles.delete(profile.customerProfileId);
  call.tools.record({ kind: "void", id: profile.customerProfileId, reference: profile.merchantCustomerId, outcome: "approved" });
  return OK;
}
