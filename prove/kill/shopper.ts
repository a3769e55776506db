import { setTimeout as delay } from "node:timers/promises";
import { nonceIn, typedCard } from "../../test/journeys/paying.ts";
import type { Service } from "./service.ts";
import type { Track } from "./track.ts";

/** Between two looks at a session whose payment is under way. */
const LOOK_MS = 300;

/**
 * Pays a widget session as its frame does, by HTTP: the page for its nonce, then the card. A shopper whose page went dead
 * opens it again and goes on, through every crash, until the session is over. A declined card is followed by the next.
 */
export async function payInFrame(track: Track, service: Service, isOver: () => boolean): Promise<void> {
  const cards = [...track.plan.cards];
  while (!isOver()) {
    await service.up;
    try {
      const found = await service.request("GET", `/v1/widget-sessions/${track.id}`);
      if (found.status === 410) return track.trace("the page says that it is over");
      if (found.status !== 200) throw new Error(`the page says ${found.status}`);
      const nonce = nonceIn(await service.page(`/widget/${track.id}`));
      if (nonce === undefined) {
        await delay(LOOK_MS);
        continue;
      }
      const card = typedCard(cards[0] ?? "");
      const headers = { "sec-fetch-site": "same-origin", "x-widget-nonce": nonce };
      const before = track.paidIn;
      track.paidIn = service.run;
      track.trace("sends a card");
      const answer = await service.request("POST", `/v1/widget-sessions/${track.id}/charge`, { card }, headers);
      track.trace(`the charge is answered ${answer.status}`);
      // An earlier try is under way, or its answer is looked for.
      if (answer.status === 409) track.paidIn = before;
      if (answer.status === 402 && cards.length > 1) cards.shift();
    } catch (error) {
      track.trace(`the page is dead: ${(error as Error).message}`);
    }
    await delay(LOOK_MS);
  }
}
