import { type MessagePort, parentPort, receiveMessageOnPort } from "node:worker_threads";
import { READY } from "./recognition-result.ts";
import { countTask } from "./task-count.ts";
import { type Sound, Verifier, forget } from "./verification.ts";
import { type VerifierConnection, type VerifierTask, opened } from "./verifier-thread.ts";

/** The thread of the second recogniser: one task after the other, whichever call it comes from. */
const verifier = await Verifier.load();
let last: Promise<unknown> = Promise.resolve();

function serve(connection: VerifierConnection): void {
  opened(connection);
  const { port, done } = connection;
  let sound: Sound | null = null;
  const forgetSound = () => {
    if (sound) forget(sound);
    sound = null;
  };
  const handle = async (task: VerifierTask) => {
    if ("samples" in task) {
      forgetSound();
      sound = await verifier.hear(task.samples);
      task.samples.fill(0);
      return;
    }
    port.postMessage(sound && (await verifier.weigh(sound, task)));
    countTask(done);
  };
  // What fails ends the thread: calls are told that it is gone.
  port.on("message", (task: VerifierTask) => {
    last = last.then(() => handle(task));
  });
  port.once("close", () => {
    last = last.then(forgetSound);
  });
}

const main = parentPort as MessagePort;
// Calls that came before the model was loaded can be served once the thread is ready.
for (let sent = receiveMessageOnPort(main); sent; sent = receiveMessageOnPort(main)) serve(sent.message as VerifierConnection);
main.on("message", serve);
main.postMessage(READY);
