import type { RotationReport } from "#src/projects/index.ts";
import { operation, type Operations, runnerOf } from "./operation.ts";

const rotation = (word: "rotate" | "reencrypt", summary: string) =>
  operation({
    arguments: "",
    summary,
    options: {},
    read: () => ({}),
    async work({ projects, keys }) {
      return { ...(await projects.rotateMasterKey({ reencrypt: word === "reencrypt" })), kept: keys.keyring.store ? "file" : "settings" };
    },
    show: describe,
    fails: ({ complete }) => !complete,
  });

export const operations: Operations = {
  "master-key rotate": rotation(
    "rotate",
    "Puts everything that is sealed under a new master key, while the service runs: a fresh one in DATA_DIR, or the MASTER_KEY that was set beside MASTER_KEY_PREVIOUS.",
  ),
  "master-key reencrypt": rotation("reencrypt", "Seals everything anew with new data keys, under the master key in force."),
};
export const run = runnerOf("master-key", operations);

function describe({ key, older, moved, complete, stuck, kept }: RotationReport & { kept: string }): string {
  const lines = [`Master key ${key}: ${moved} ${moved === 1 ? "value was" : "values were"} put under it.`];
  if (stuck.length > 0)
    lines.push(`Could not be opened, so the old key is still needed: ${stuck.join(", ")}. Apply these anew, then ask again.`);
  else if (!complete)
    lines.push("Some process still seals under the old key, which is still needed: start all with the new one, then ask again.");
  else if (kept === "file") lines.push("master.key in the data folder has this key alone; back-ups made before need the one they hold.");
  else if (older.length > 0 && moved === 0)
    lines.push("Everything was under it already. If the new key is the one in MASTER_KEY_PREVIOUS: exchange the two, restart, ask again.");
  else if (older.length > 0) lines.push("Nothing is under the old key any more: MASTER_KEY_PREVIOUS can be left out with the next start.");
  return lines.join("\n");
}
