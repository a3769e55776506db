import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readConfig } from "#src/config/index.ts";
import { inEnglish, type Sample, samplesOf, type Sentence } from "#src/conversation/index.ts";
import { OperatorError } from "#src/kernel/errors.ts";
import { type LanguageTag, spokenLanguage, spokenLanguages } from "#src/kernel/language.ts";
import { systemClock } from "#src/kernel/clock.ts";
import { makeFolder, silentLog } from "#src/platform/index.ts";
import { openVoices, type Voices } from "#src/roles/voices.ts";
import { writeWav } from "#src/speech/index.ts";
import { findProject } from "./find-project.ts";
import { operation, type Operations, runnerOf, type Sent } from "./operation.ts";

interface Output {
  project: string;
  name: string;
  language: LanguageTag;
  samples: readonly Sample[];
  /** Sounds in base64, by their digests. */
  recordings: Record<string, string>;
}

const preview = operation({
  arguments: "PROJECT [--out FOLDER]",
  summary:
    "Writes all that a project's callers can hear into FOLDER (voice-PROJECT), as WAV files and a page to listen to them. PROJECT: its slug, or ORGANIZATION/SLUG.",
  options: { out: { type: "string" } },
  takes: 1,
  opening: { leavesAudit: true },
  read: (_, name: string) => ({ name, languages: spokenLanguages(readConfig(process.env).voice) }),
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
  async finish(output, { out }) {
    const { project, language, samples } = output;
    const folder = out ?? `voice-${project}`;
    const missed = await write(folder, output);
    const sentences = samples.map((sample) => ({
      sentence: sample.name,
      when: sample.when,
      words: sample.sentence.recording === undefined ? wordsOf(sample.sentence) : null,
      file: join(folder, `${sample.name}.wav`),
    }));
    return { project, language, page: join(folder, "index.html"), missed, sentences };
  },
  show: ({ language, page, missed, sentences }) =>
    [
      ...(missed > 0 ? [`${missed} of them by the embedded voice, in English: the endpoint of VOICE did not say them.`] : []),
      `${sentences.length} sentences, ${language}. To listen to them:\n  ${page}`,
    ].join("\n"),
});

export const operations: Operations = { "voice preview": preview };
export const run = runnerOf("voice", operations);

/** Returns how many sentences the endpoint, where there is one, did not say. */
async function write(folder: string, output: Sent<Output>): Promise<number> {
  const config = readConfig(process.env);
  const voices = openVoices({ config, clock: systemClock, log: silentLog }, join(config.dataDir, "prompts"));
  try {
    return await writeBy(voices, folder, output);
  } catch (cause) {
    throw new OperatorError(`The folder ${JSON.stringify(folder)} cannot be written, or the voice failed: ${(cause as Error).message}.`, {
      cause,
    });
  } finally {
    await voices.stop();
  }
}

async function writeBy(voices: Voices, folder: string, output: Sent<Output>): Promise<number> {
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
    const sound = said ?? (await rendered(inEnglish(sentence), { ...voices, endpoint: null }));
    writeFileSync(join(folder, `${name}.wav`), writeWav(sound));
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
