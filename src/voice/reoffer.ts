import { acceptOffer, createOffer, type LocalMedia, type MediaLeg, readAnswer } from "#src/media/index.ts";
import type { CallDialog } from "#src/sip/index.ts";

/** Follows the peer's new session descriptions in the dialog: hold, other codec, other address (RFC 3264 section 8, R-226). */
export function followReoffers(dialog: Pick<CallDialog, "onReinvite" | "onAnswer">, leg: MediaLeg, local: LocalMedia): void {
  /** Our own offer, made because a re-INVITE had none; its answer comes with the ACK. */
  let offered: string | null = null;

  dialog.onReinvite = (offer) => {
    if (offer === null) {
      offered = createOffer(local);
      local.previous = offered;
      return offered;
    }
    const agreed = acceptOffer(offer, local);
    if (agreed.kind === "refused") return null;
    local.previous = agreed.answer;
    leg.update(agreed.remote);
    return agreed.answer;
  };

  dialog.onAnswer = (answer) => {
    const agreed = offered === null ? null : readAnswer(answer, offered);
    if (agreed?.kind === "agreed") leg.update(agreed.remote);
  };
}
