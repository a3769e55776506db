import { json } from "../kit/index.ts";
import type { Answer, Kept } from "../kit/index.ts";
import { ISSUER, checkCard, missing, newId, refusal, typeOf, WORDS } from "./shared.ts";
import type { PaysafeCall, Profile, StoredCard } from "./shared.ts";

/** Profiles and their cards. */

export function createProfile(call: PaysafeCall): Answer {
  const merchantCustomerId = call.text("merchantCustomerId");
  const number = call.has("card.cardNum") ? checkCard(call, "card.", "7508") : null;
  const twin = [...call.state.profiles.values()].find((profile) => profile.merchantCustomerId === merchantCustomerId);
  if (twin !== undefined) {
    const links = [{ rel: "existing_entity", href: `https://api.test.paysafe.com/customervault/v1/profiles/${twin.id}` }];
    throw refusal("7505", {}, { words: `${WORDS["7505"]} - ${twin.id}`, beside: { links } });
  }
  const names = Object.fromEntries(["locale", "firstName", "lastName", "email"].map((name) => [name, call.maybe(name)]));
  const members = { ...names, paymentToken: call.tools.id("P", 14), addresses: [] };
  const profile = { id: newId(call), merchantCustomerId, members };
  const cards = number === null ? [] : [store(call, profile, number, "card.")];
  call.state.profiles.set(profile.id, profile);
  return json(number === null ? 201 : 200, { ...shownProfile(profile), ...(cards.length > 0 && { cards: cards.map(shownStored) }) });
}

const shownProfile = ({ id, merchantCustomerId, members }: Profile): object => ({ id, status: "ACTIVE", merchantCustomerId, ...members });
const shownStored = ({ id, number, paymentToken, members }: Kept<StoredCard>): object => {
  const { type, ...rest } = members;
  return { status: "ACTIVE", id, cardBin: number.slice(0, 6), ...rest, cardType: type, cardCategory: "CREDIT", paymentToken };
};

function store(call: PaysafeCall, profile: Profile, number: string, path: "card." | ""): Kept<StoredCard> {
  // No issuer is asked: of the uniform cards those alone show that lose their connection.
  call.decide(ISSUER, number);
  const cardExpiry = { year: call.number(`${path}cardExpiry.year`), month: call.number(`${path}cardExpiry.month`) };
  const shownMembers = { type: typeOf(number), lastDigits: number.slice(-4), cardExpiry };
  const card = {
    profileId: profile.id,
    paymentToken: call.tools.id("C", 14),
    number,
    zip: call.text(`${path}billingAddress.zip`),
    accountId: call.text(`${path}accountId`),
    members: { ...shownMembers, holderName: call.text(`${path}holderName`), defaultCardIndicator: cardsOf(call, profile).length === 0 },
  };
  return call.vault.store(newId(call), card, profile.merchantCustomerId);
}

const profileOf = (call: PaysafeCall): Profile => call.state.profiles.get(call.param("id")) ?? missing();
const cardsOf = ({ vault }: PaysafeCall, { id }: Profile): Kept<StoredCard>[] => vault.all(({ profileId }) => profileId === id);

export function addCard(call: PaysafeCall): Answer {
  const profile = profileOf(call);
  const number = checkCard(call, "", "7508");
  const twin = cardsOf(call, profile).find((card) => card.number === number);
  if (twin !== undefined) throw refusal("7503", {}, { words: `${WORDS["7503"]} - ${twin.id}` });
  return json(201, shownStored(store(call, profile, number, "")));
}

/** What the vault shows of a profile at this moment; its cards only where they are asked for. */
function seen(call: PaysafeCall, profile: Profile | undefined, fields: string): Answer {
  const cards = call.lookUpCards(profile?.merchantCustomerId ?? null, ({ profileId }) => profileId === profile?.id);
  if (profile === undefined) missing();
  if (cards.length === 0 && cardsOf(call, profile).length > 0) missing();
  return json(200, { ...shownProfile(profile), ...(fields.includes("cards") && { cards: cards.map(shownStored) }) });
}

export function findProfile(call: PaysafeCall): Answer {
  const wanted = call.text("merchantCustomerId");
  const profile = [...call.state.profiles.values()].find(({ merchantCustomerId }) => merchantCustomerId === wanted);
  return seen(call, profile, "");
}

export const readProfile = (call: PaysafeCall): Answer => seen(call, call.state.profiles.get(call.param("id")), call.text("fields"));

/** Removes one card, or the profile with all of its. */
export function remove(call: PaysafeCall): Answer {
  const [profile, wanted] = [profileOf(call), call.params["card"]];
  const cards = cardsOf(call, profile).filter(({ id }) => wanted === undefined || id === wanted);
  if (wanted !== undefined && cards.length === 0) missing();
  for (const { id } of cards) call.vault.remove(id);
  if (wanted === undefined) call.state.profiles.delete(profile.id);
  return { status: 200, body: "" };
}
