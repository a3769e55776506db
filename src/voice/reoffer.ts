import { acceptOffer, createOffer, type LocalMedia, type MediaLeg, readAnswer, type RemoteMedia } from "#src/media/index.ts";
import type { CallDialog } from "#src/sip/index.ts";

/** Follows the peer's new session descriptions in the dialog: hold, other codec, other address (RFC 3264 section 8, R-226). */
export function followReoffers(
  dialog: Pick<CallDialog, "onReinvite" | "onAnswer">,
  leg: Pick<MediaLeg, "update">,
  local: LocalMedia,
): void {
  dialog.onReinvite = (offer) => {
    if (offer === null) {
      local.previous = createOffer(local);
      return local.previous;
    }
    const agreed = acceptOffer(offer, local);
    if (agreed.kind === "refused") return null;
    local.previous = agreed.answer;
    leg.update(agreed.remote);
    return agreed.answer;
  };

  // To an offer made because a re-INVITE had none, or to the one repeated in a session refresh of ours.
  dialog.onAnswer = (answer) => {
    const agreed = local.previous === null ? null : readAnswer(answer, local.previous);
    // What is encrypted stays so, also where the keys were given beside plain RTP.
    if (agreed?.kind === "agreed" && (agreed.remote.srtp || !local.srtp?.required)) leg.update(agreed.remote);
  };
}

/** Whether the first answer took keys that were given beside plain RTP (RFC 8643) decides it for the whole call. */
export function holdTo({ srtp }: RemoteMedia, local: LocalMedia): void {
  if (!srtp) delete local.srtp;
  else if (local.srtp) local.srtp.required = true;
}
