import { basicOf } from "../kit/wrong-requests.ts";
import type { Send, Sent, WrongRequests } from "../kit/wrong-requests.ts";

const headers = {
  Authorization: basicOf("examplepublickey", "0123456789abcdef0123456789abcdef"),
  "Braintree-Version": "2019-01-01",
};
const graphql = (query: string, variables: Record<string, unknown>): Sent => ({ at: "POST /graphql", headers, body: { query, variables } });

const CARD = {
  number: "4111111111111111",
  expirationMonth: "03",
  expirationYear: "2060",
  cvv: "123",
  cardholderName: "Ada Byron",
  billingAddress: { postalCode: "44628" },
};
export const tokenized = (card: object = {}) =>
  graphql("mutation T($input: TokenizeCreditCardInput!) { tokenizeCreditCard(input: $input) { paymentMethod { id } } }", {
    input: { creditCard: { ...CARD, ...card }, options: { validate: true } },
  });
const newCard = async (send: Send, card: object = {}) =>
  (await send(tokenized(card))).json.data.tokenizeCreditCard.paymentMethod.id as string;
export const charged = async (send: Send, transaction: object = {}, card: object = {}) =>
  graphql("mutation C($input: ChargeCreditCardInput!) { chargeCreditCard(input: $input) { transaction { id status } } }", {
    input: { paymentMethodId: await newCard(send, card), transaction: { amount: "49.95", paymentInitiator: "MOTO", ...transaction } },
  });
const customer = () =>
  graphql("mutation K($input: CreateCustomerInput) { createCustomer(input: $input) { customer { id } } }", {
    input: { customer: { firstName: "Ada" } },
  });
export const vaulted = async (send: Send, card: object = {}) => {
  const customerId = (await send(customer())).json.data.createCustomer.customer.id as string;
  return graphql("mutation V($input: VaultCreditCardInput!) { vaultCreditCard(input: $input) { paymentMethod { id } } }", {
    input: { paymentMethodId: await newCard(send, card), customerId, verification: { skip: false } },
  });
};

export const wrongRequests: WrongRequests = {
  codeOf: ({ status, json }) => {
    const error = json?.errors?.[0];
    if (status === 200 && error === undefined) return null;
    return error?.extensions?.legacyCode ?? error?.extensions?.errorClass ?? `${status} document`;
  },
  requests: {
    "a ping": () => ({ at: "POST /graphql", headers, body: { query: "{ ping }" } }),
    "a tokenization": () => tokenized(),
    "a charge": charged,
    "a customer": customer,
    "a stored card": vaulted,
    "a search": () =>
      graphql("query S($input: TransactionSearchInput!) { search { transactions(input: $input, first: 10) { edges { node { id } } } } }", {
        input: { orderId: { is: "order-1" } },
      }),
    "a reversal": async (send) => {
      const { transaction } = (await send(await charged(send))).json.data.chargeCreditCard;
      return graphql("mutation R($input: ReverseTransactionInput!) { reverseTransaction(input: $input) { reversal { __typename } } }", {
        input: { transactionId: transaction.id },
      });
    },
    "a transaction": async (send) => {
      const { transaction } = (await send(await charged(send))).json.data.chargeCreditCard;
      return graphql("query N($id: ID!) { node(id: $id) { ... on Transaction { id status } } }", { id: transaction.id });
    },
  },
  cases: [
    ["a charge", { "header:Authorization": undefined }, "AUTHENTICATION"],
    ["a charge", { "header:Authorization": basicOf("wrongkey", "0123") }, "AUTHENTICATION"],
    ["a charge", { "header:Authorization": basicOf("examplepublickey", "wrong") }, "AUTHENTICATION"],
    ["a charge", { "header:Authorization": basicOf("sandbox_9dbg82cq", "") }, "AUTHENTICATION"],
    ["a charge", { "header:Braintree-Version": undefined }, "UNSUPPORTED_CLIENT"],
    ["a charge", { "header:Braintree-Version": "2019-13-01" }, "UNSUPPORTED_CLIENT"],
    ["a charge", { "header:Content-Type": "text/plain" }, "200 document"],
    ["a charge", { body: "{" }, "200 document"],
    ["a charge", { path: "/merchants" }, "404 document"],
    ["a charge", { query: "mutation { sell { id } }" }, "200 document"],
    ["a charge", { query: undefined }, "200 document"],
    [
      "a charge",
      { query: "mutation C($input: ChargeCreditCardInput!) { chargeCreditCard(input: $input) { transaction { state } } }" },
      "200 document",
    ],
    ["a charge", { query: "mutation C($input: ChargeInput!) { chargeCreditCard(input: $input) { transaction { id } } }" }, "200 document"],
    ["a charge", { "variables.input.paymentMethodId": undefined }, "200 document"],
    ["a charge", { "variables.input.paymentMethodId": "tokencc_bh_none" }, "91565"],
    ["a charge", { "variables.input.transaction.amount": undefined }, "200 document"],
    ["a charge", { "variables.input.transaction.amount": "49.9" }, "81531"],
    ["a charge", { "variables.input.transaction.amount": "0.00" }, "81531"],
    ["a charge", { "variables.input.transaction.amount": 49.95 }, "81531"],
    ["a charge", { "variables.input.transaction.currency": "USD" }, "200 document"],
    ["a charge", { "variables.input.transaction.description": "Invoice" }, "200 document"],
    ["a charge", { "variables.input.transaction.paymentInitiator": "PHONE" }, "200 document"],
    ["a charge", { "variables.input.transaction.orderId": "o".repeat(256) }, "200 document"],
    ["a charge", { "variables.input.transaction.merchantAccountId": "another" }, "91513"],
    ["a tokenization", { "variables.input.creditCard.number": undefined }, "81714"],
    ["a tokenization", { "variables.input.creditCard.number": "4111111111111112" }, "81715"],
    ["a tokenization", { "variables.input.creditCard.number": "4111" }, "81716"],
    ["a tokenization", { "variables.input.creditCard.expirationMonth": "13" }, "81712"],
    ["a tokenization", { "variables.input.creditCard.expirationYear": "60s" }, "81713"],
    ["a tokenization", { "variables.input.creditCard.expirationYear": "2020" }, "81709"],
    ["a tokenization", { "variables.input.creditCard.cvv": "1234" }, "81707"],
    ["a tokenization", { "variables.input.creditCard.cvv": "12" }, "81707"],
    ["a tokenization", { "variables.input.creditCard.cardholderName": "n".repeat(176) }, "81723"],
    ["a tokenization", { "variables.input.creditCard.billingAddress.postalCode": "44_28" }, "81813"],
    ["a tokenization", { "variables.input.creditCard.zip": "44628" }, "200 document"],
    ["a stored card", { "variables.input.customerId": undefined }, "91704"],
    ["a stored card", { "variables.input.customerId": "bm9uZQ==" }, "NOT_FOUND"],
    ["a stored card", { "variables.input.paymentMethodId": "tokencc_bh_none" }, "91565"],
    ["a stored card", { "variables.input.verification.skip": "no" }, "200 document"],
    ["a customer", { "variables.input.customer.name": "Ada" }, "200 document"],
    ["a search", { "variables.input.orderId.contains": "o" }, "200 document"],
    ["a reversal", { "variables.input.transactionId": "bm9uZQ==" }, "NOT_FOUND"],
    ["a transaction", { "variables.id": "bm9uZQ==" }, "NOT_FOUND"],
  ],
};
