import { mask } from "../kit/index.ts";
import type { Answer } from "../kit/index.ts";
import { answer, notFound, OK, refusal } from "./replies.ts";
import { accountTypeOf, cardIn, holderOf, judge, newLetters, shownNumber } from "./transactions.ts";
import type { Address, AuthnetCall, Judged, Profile } from "./transactions.ts";

/** Customer profiles (CIM): a customer with stored cards, checked before they are stored. */

const EMPTY = { customerPaymentProfileIdList: [], customerShippingAddressIdList: [], validationDirectResponseList: [] };

export function createCustomerProfile(call: AuthnetCall): Answer {
  const { tools, state } = call;
  const [merchantCustomerId = "", description = "", email = ""] = ["merchantCustomerId", "description", "email"].map((name) =>
    call.text(`profile.${name}`),
  );
  if (merchantCustomerId + description + email === "") throw refusal("E00041", "One or more fields must contain a value.", EMPTY);
  const isTwin = (profile: Profile) =>
    profile.merchantCustomerId === merchantCustomerId && profile.description === description && profile.email === email;
  const twin = [...state.profiles.values()].find(isTwin);
  if (twin) throw refusal("E00039", `A duplicate record with ID ${twin.id} already exists.`, EMPTY);
  const paths: string[] = [];
  while (call.has(`profile.paymentProfiles[${paths.length}].payment.creditCard.cardNumber`))
    paths.push(`profile.paymentProfiles[${paths.length}]`);
  const mode = call.maybe("validationMode") ?? "none";
  if (mode === "liveMode" && paths.length === 0) throw refusal("E00013", "Validation Mode is invalid.", EMPTY);
  const profile: Profile = { id: tools.digits(9), merchantCustomerId, description, email, paymentProfiles: [] };
  const lines = paths.map((path) => store(call, profile, path, mode));
  const refused = lines.find(({ isRefused }) => isRefused);
  const validationDirectResponseList = mode === "none" ? [] : (refused ? [refused] : lines).map(({ line }) => line);
  if (refused) return answer({ code: "E00027", text: refused.text }, { ...EMPTY, validationDirectResponseList });
  state.profiles.set(profile.id, profile);
  const customerPaymentProfileIdList = profile.paymentProfiles.map(({ id }) => id);
  return answer(OK, { customerProfileId: profile.id, ...EMPTY, customerPaymentProfileIdList, validationDirectResponseList });
}

/** A further card of a customer; one that he has already is refused with the ids of the first. */
export function addPaymentProfile(call: AuthnetCall): Answer {
  const profile = found(call);
  const { number } = cardIn(call, "paymentProfile.payment");
  const twin = profile.paymentProfiles.find(({ card }) => card.number === number);
  const ids = (id: string) => ({ customerProfileId: profile.id, customerPaymentProfileId: id });
  if (twin) throw refusal("E00039", "A duplicate customer payment profile already exists.", ids(twin.id));
  const { isRefused, text, line } = store(call, profile, "paymentProfile", call.maybe("validationMode") ?? "none");
  if (isRefused) return answer({ code: "E00027", text }, { validationDirectResponse: line });
  return answer(OK, { ...ids(profile.paymentProfiles.at(-1)?.id ?? ""), validationDirectResponse: line });
}

/** Checks a card and puts it on the profile. Only liveMode asks the issuer: an error of form is an error in every mode. */
function store(call: AuthnetCall, profile: Profile, path: string, mode: string): { isRefused: boolean; text: string; line: string } {
  const { tools } = call;
  const [card, billTo] = [cardIn(call, `${path}.payment`), call.under(`${path}.billTo.`) as Address];
  const judged = judge(call, card, billTo, 0, false);
  const isFormFault = judged.responseCode === "3" && ["6", "7", "8"].includes(judged.reason);
  const isRefused = judged.responseCode !== "1" && (mode === "liveMode" || isFormFault);
  if (!isRefused) profile.paymentProfiles.push({ id: tools.digits(9), card, billTo });
  tools.record({
    kind: "token",
    id: isRefused ? null : profile.id,
    reference: profile.merchantCustomerId || null,
    outcome: isRefused ? "declined" : "approved",
    card: mask(card.number),
    details: holderOf(billTo),
  });
  return { isRefused, text: judged.text, line: directResponse(call, card.number, judged) };
}

/** The validation's result as one line: 0 response code, 2 reason, 3 text, 4 auth code, 5 AVS, 6 id, 38 and 39 codes, 50 and 51 card. */
function directResponse({ tools }: AuthnetCall, number: string, { responseCode, reason, text, avs, cvv }: Judged): string {
  const fields = Array.from({ length: 68 }, () => "");
  const id = responseCode === "3" ? "0" : tools.digits(11);
  const start = [responseCode, "1", reason, text, responseCode === "1" ? newLetters(tools, 6) : "", avs, id, "none"];
  fields.splice(0, 12, ...start, "Test transaction for ValidateCustomerPaymentProfile.", "0.00", "CC", "auth_only");
  fields[38] = cvv;
  fields.splice(50, 2, shownNumber(number), accountTypeOf(number));
  return fields.join(",");
}

/** The profile that a request names by id, by the merchant's id or by e-mail; refuses what is not there. */
function found(call: AuthnetCall): Profile {
  const [id, merchantCustomerId, email] = ["customerProfileId", "merchantCustomerId", "email"].map((name) => call.maybe(name));
  const profile = [...call.state.profiles.values()].find((profile) =>
    id !== undefined
      ? profile.id === id
      : merchantCustomerId !== undefined
        ? profile.merchantCustomerId === merchantCustomerId
        : email !== undefined && profile.email === email,
  );
  if (profile === undefined) throw notFound();
  return profile;
}

export function getCustomerProfile(call: AuthnetCall): Answer {
  if (call.request.lookUpLag() > 0) throw notFound();
  const { paymentProfiles, id, merchantCustomerId, description, email } = found(call);
  call.tools.record({ kind: "look-up", id, reference: merchantCustomerId, outcome: null });
  const shown = paymentProfiles.map(({ id: customerPaymentProfileId, card: { number }, billTo }) => ({
    customerPaymentProfileId,
    payment: { creditCard: { cardNumber: shownNumber(number), expirationDate: "XXXX", cardType: accountTypeOf(number) } },
    customerType: "individual",
    billTo,
  }));
  const profile = { paymentProfiles: shown, profileType: "regular", customerProfileId: id, merchantCustomerId, description, email };
  return answer(OK, { profile });
}

export function deleteCustomerProfile(call: AuthnetCall): Answer {
  const { id, merchantCustomerId } = found(call);
  call.state.profiles.delete(id);
  call.tools.record({ kind: "void", id, reference: merchantCustomerId, outcome: "approved" });
  return answer(OK);
}
