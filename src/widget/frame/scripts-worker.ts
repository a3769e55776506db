import { parentPort } from "node:worker_threads";
import { stripScripts } from "./scripts.ts";

/** The thread of `stripScriptsAside`. */
parentPort!.postMessage(stripScripts());
