import assert from "node:assert/strict";
import type { Turn } from "#softphone/script.ts";
import type { Shown } from "./processes.ts";

export const CARD = "4242424242424242";

/** A whole payment typed ahead, as soon as the line is open: number, expiry, security code, ZIP, yes. */
export function keyedPayment(card: string = CARD): Turn[] {
  return [
    { do: "wait for", text: "payment line" },
    { do: "dtmf", digits: `${card}#1230#123#94105#1` },
  ];
}

/** What happens in a call. Fails when the call ends before it: nobody waits for what cannot come any more. */
export async function during<Happened>(call: Promise<unknown>, event: Promise<Happened>): Promise<Happened> {
  return await Promise.race([event, call.then(() => assert.fail("the call ended before"))]);
}

/** A card as a widget's frame posts it. */
export const typedCard = (number: string, cvv = "123") => ({ number, exp_month: "12", exp_year: "2060", cvv, postal_code: "94105" });

/** The nonce for whoever has opened a widget's page; undefined: it shows no form. */
export const nonceIn = (page: string) => /widget-nonce" content="([^"]+)"/.exec(page)?.[1];

export interface WidgetMade {
  session_id: string;
  widget_url: string;
}

/** Opens the page of a widget session and posts a card there, as its frame does. */
export async function payInPage({ session_id, widget_url }: WidgetMade, card: object): Promise<{ status: number; body: Shown }> {
  const page = await (await fetch(widget_url)).text();
  const response = await fetch(new URL(`/v1/widget-sessions/${session_id}/charge`, widget_url), {
    method: "POST",
    headers: { "content-type": "application/json", "sec-fetch-site": "same-origin", "x-widget-nonce": nonceIn(page) ?? "" },
    body: JSON.stringify({ card }),
  });
  return { status: response.status, body: (await response.json()) as Shown };
}
