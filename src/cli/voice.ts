import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readConfig } from "#src/config/index.ts";
import { inLanguage, type Sample, samplesOf, type Sentence } from "#src/conversation/index.ts";
import { OperatorError } from "#src/kernel/errors.ts";
import { EMBEDDED_LANGUAGE, type LanguageTag, spokenLanguage, spokenLanguages } from "#src/kernel/language.ts";
import { systemClock } from "#src/kernel/clock.ts";
import { makeFolder, silentLog } from "#src/platform/index.ts";
import { openVoices, type Voices } from "#src/roles/voices.ts";
import { writeWav } from "#softphone/wav.ts";
import { findProject } from "./find-project.ts";
import { only, operation, type Operations, perform, runnerOf, type Sent } from "./operation.ts";

interface Output {
  project: string;
  name: string;
  language: LanguageTag;
  samples: readonly Sample[];
  /** Sounds in base64, by their digests. */
  recordings: Record<string, string>;
}

const USAGE = "voice preview PROJECT [--out FOLDER]";

const preview = operation({
  arguments: "PROJECT [--out FOLDER]",
  summary:
    "Writes all that a project's callers can hear into FOLDER (voice-PROJECT), as WAV files and a page to listen to them. PROJECT: its slug, or ORGANIZATION/SLUG.",
  options: { out: { type: "string" } },
  opening: { leavesAudit: true },
  read: (_, positionals) => ({ name: only(positionals, USAGE), languages: spokenLanguages(readConfig(process.env).voice) }),
  async work({ database, projects }, { name, languages }): Promise<Output> {
    const { id } = findProject(await projects.overview(database.db), name);
    const project = await projects.projectById(database.db, id);
    if (!project) throw new OperatorError(`There is no project "${name}".`);
    const { voice, acceptedBrands, currency } = project;
    const language = spokenLanguage(project.language, languages);
    const { name: merchant, prompts: wordings, recordings } = voice;
    const samples = samplesOf({ language, currency, acceptedBrands, merchant, wordings, recordings });
    const sounds = Object.values(recordings).map(async (digest) => {
      const ulaw = await projects.recording(database.db, digest);
      return [digest, Buffer.from(ulaw ?? []).toString("base64")] as const;
    });
    return { project: project.slug, name: project.name, language, samples, recordings: Object.fromEntries(await Promise.all(sounds)) };
  },
  show: ({ project }) => project,
});

export const operations: Operations = { "voice preview": preview };

/** As `runnerOf`, but that the files are written here, where the operator is, wherever the database is. */
export async function run(args: string[]): Promise<number> {
  const isPreview = args[0] === "preview" && !args.some((argument) => ["--help", "-h"].includes(argument));
  if (!isPreview) return await runnerOf("voice", operations)(args);
  const { name, out, json } = readArguments(args.slice(1));
  const config = readConfig(process.env);
  const output = (await perform(config, "voice preview", preview, { name, languages: spokenLanguages(config.voice) })) as Sent<Output>;
  const folder = out ?? `voice-${output.project}`;
  const voices = openVoices({ config, clock: systemClock, log: silentLog }, join(config.dataDir, "prompts"));
  let missed: number;
  try {
    missed = await write(folder, output, voices);
  } catch (cause) {
    throw new OperatorError(`The folder ${JSON.stringify(folder)} cannot be written, or the voice failed: ${(cause as Error).message}.`, {
      cause,
    });
  } finally {
    await voices.stop();
  }
  if (json) {
    const { project, language, samples } = output;
    const sentences = samples.map((sample) => ({
      sentence: sample.name,
      when: sample.when,
      words: sample.sentence.recording === undefined ? wordsOf(sample.sentence) : null,
      file: join(folder, `${sample.name}.wav`),
    }));
    process.stdout.write(`${JSON.stringify({ project, language, page: join(folder, "index.html"), missed, sentences })}\n`);
    return 0;
  }
  if (missed > 0) process.stdout.write(`${missed} of them by the embedded voice, in English: the endpoint of VOICE did not say them.\n`);
  process.stdout.write(`${output.samples.length} sentences, ${output.language}. To listen to them:\n  ${join(folder, "index.html")}\n`);
  return 0;
}

function readArguments(args: string[]): { name: string; out: string | undefined; json: boolean } {
  try {
    const options = { out: { type: "string" }, json: { type: "boolean" } } as const;
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
    return { name: only(positionals, USAGE), out: values.out, json: values.json === true };
  } catch (cause) {
    if (cause instanceof OperatorError) throw cause;
    throw new OperatorError(`${(cause as Error).message.split("\n", 1)[0]} Usage: voicetill ${USAGE}`, { cause });
  }
}

/** Returns how many sentences the endpoint, where there is one, did not say. */
async function write(folder: string, output: Sent<Output>, voices: Voices): Promise<number> {
  makeFolder(folder);
  let missed = 0;
  for (const { name, sentence } of output.samples) {
    const recorded = sentence.recording === undefined ? undefined : output.recordings[sentence.recording];
    if (recorded !== undefined) {
      writeFileSync(join(folder, `${name}.wav`), writeWav(Buffer.from(recorded, "base64")));
      continue;
    }
    const said = voices.endpoint && (await rendered(sentence, voices).catch(() => null));
    if (voices.endpoint && !said) missed++;
    const here = sentence.language === EMBEDDED_LANGUAGE ? sentence : inLanguage(EMBEDDED_LANGUAGE, sentence);
    writeFileSync(join(folder, `${name}.wav`), writeWav(said ?? (await rendered(here, { ...voices, endpoint: null }))));
  }
  writeFileSync(join(folder, "index.html"), pageOf(output));
  return missed;
}

async function rendered({ language, pieces }: Pick<Sentence, "language" | "pieces">, { synthesiser, endpoint }: Voices): Promise<Buffer> {
  const clips: Uint8Array[] = [];
  for (const { text, isFixed } of pieces) {
    const options = { keep: isFixed, isAhead: true };
    clips.push(await (endpoint ? endpoint.render(text, { ...options, language }) : synthesiser.render(text, options)));
  }
  return Buffer.concat(clips);
}

const wordsOf = ({ pieces }: Sent<Sample["sentence"]>): string => pieces.map(({ text }) => text).join(" ");
const escape = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

function pageOf({ name, language, samples }: Sent<Output>): string {
  const rows = samples.map(
    (sample) =>
      `<tr><th scope="row">${sample.name.replace(/-[0-9]+$/, "")}</th><td>${escape(sample.when)}</td><td lang="${language}">${sample.sentence.recording === undefined ? escape(wordsOf(sample.sentence)) : "(recorded)"}</td><td><audio controls preload="none" src="${sample.name}.wav"></audio></td></tr>`,
  );
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>What callers of ${escape(name)} hear</title>
<style>body{font:16px system-ui;margin:2rem}table{border-collapse:collapse}th,td{text-align:left;padding:.4rem .8rem;border-bottom:1px solid #ccc}</style>
<h1>What callers of ${escape(name)} hear</h1>
<table>
<tr><th scope="col">Sentence</th><th scope="col">When</th><th scope="col">Words</th><th scope="col">Sound</th></tr>
${rows.join("\n")}
</table>
</html>
`;
}
