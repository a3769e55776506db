import { basicUser, coded, defineSimulator, json, matching, refuseWith, rules } from "../kit/index.ts";
import { cancel, find, pay, read, refund, release, settle } from "./payments.ts";
import { AMOUNT, AUTH, BODY, FIND, NAMES, PAYMENT, REFERENCE, VAULT_CARD } from "./rules.ts";
import { FORBIDDEN_ACCOUNT, fieldError, refusal } from "./shared.ts";
import type { Details, State, StoredCard } from "./shared.ts";
import { addCard, createProfile, findProfile, readProfile, remove } from "./vault.ts";

/**
 * Paysafe's Card Payments and Customer Vault interfaces: JSON under HTTP Basic, a decline is status 402, a reference that was used on the
 * account is refused with 5031 and never replayed. The vault asks no issuer.
 */

const ACCOUNT = "/cardpayments/v1/accounts/:account";
const PROFILES = "/customervault/v1/profiles";
const monitor = { authenticate: () => "monitor", run: () => json(200, { status: "READY" }) };

const PROFILE = rules`
  merchantCustomerId! 100, locale! is en_US|fr_CA|en_GB, ${NAMES}
  card?: ${VAULT_CARD}
`;
const CHANGE = rules`${REFERENCE}, amount ${AMOUNT}`;

export const simulator = defineSimulator<State, Details, StoredCard>({
  body: BODY,
  state: () => ({ used: new Map(), profiles: new Map() }),
  headers: { accept: coded("5271", matching(/application\/json|\*\/\*/, "application/json")) },
  authenticate(request) {
    const user = basicUser(request) ?? refuseWith(refusal("5279"));
    const { account } = request.params;
    if (account !== undefined && !/^\d{6,12}$/.test(account)) throw refusal("5269");
    if (account === FORBIDDEN_ACCOUNT) throw refusal("5270", { details: [`access to {stpAccount:${account}} denied`] });
    return user;
  },
  endpoints: {
    [`POST ${ACCOUNT}/auths`]: { rules: AUTH, run: (call) => pay(call, "auths") },
    [`POST ${ACCOUNT}/verifications`]: { rules: PAYMENT, run: (call) => pay(call, "verifications") },
    [`GET ${ACCOUNT}/auths`]: { rules: FIND, run: (call) => find(call, "auths") },
    [`GET ${ACCOUNT}/verifications`]: { rules: FIND, run: (call) => find(call, "verifications") },
    [`GET ${ACCOUNT}/auths/:id`]: { run: (call) => read(call, "auths") },
    [`GET ${ACCOUNT}/verifications/:id`]: { run: (call) => read(call, "verifications") },
    [`POST ${ACCOUNT}/auths/:id/settlements`]: { rules: CHANGE, run: settle },
    [`POST ${ACCOUNT}/auths/:id/voidauths`]: { rules: CHANGE, run: release },
    [`PUT ${ACCOUNT}/settlements/:id`]: { rules: rules`status! is CANCELLED`, run: cancel },
    [`POST ${ACCOUNT}/settlements/:id/refunds`]: { rules: CHANGE, run: refund },
    [`POST ${PROFILES}`]: { rules: PROFILE, run: createProfile },
    [`GET ${PROFILES}`]: { rules: rules`merchantCustomerId! 100`, run: findProfile },
    [`GET ${PROFILES}/:id`]: { rules: rules`fields /(addresses|cards)(,(addresses|cards))*/`, run: readProfile },
    [`POST ${PROFILES}/:id/cards`]: { rules: VAULT_CARD, run: addCard },
    [`DELETE ${PROFILES}/:id`]: { run: remove },
    [`DELETE ${PROFILES}/:id/cards/:card`]: { run: remove },
    "GET /cardpayments/monitor": monitor,
    "GET /customervault/monitor": monitor,
  },
  refuse: {
    malformed: () => refusal("5023", { details: ["Either the body is not valid JSON or a value holds a character that is not allowed."] }),
    path: (_request, isKnown) => refusal(isKnown ? "5281" : "5273"),
    field: ({ field, words, code }) => (code === undefined ? fieldError(field, words) : refusal(code)),
  },
  responseHeaders: ({ tools }) => ({ "x-application-uid": tools.id("GUID=", 24) }),
});
