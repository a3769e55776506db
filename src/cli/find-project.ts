import { OperatorError } from "#src/kernel/errors.ts";
import type { ProjectOverview } from "#src/projects/index.ts";

/** The project of that slug, or of ORGANIZATION/SLUG where several organisations have one; throws OperatorError, also for an archived one. */
export function findProject<P extends Pick<ProjectOverview, "organization" | "project" | "archived">>(
  projects: readonly P[],
  name: string,
): P {
  const named = projects.filter(({ organization, project }) => [project, `${organization}/${project}`].includes(name));
  const [found, ...more] = named.filter(({ archived }) => !archived);
  if (found === undefined) {
    const why =
      named.length === 0
        ? unknownProject(projects, name)
        : `The project "${name}" is archived; archived: false in the apply file brings it back.`;
    throw new OperatorError(why);
  }
  if (more.length === 0) return found;
  const all = [found, ...more].map(({ organization, project }) => `${organization}/${project}`);
  throw new OperatorError(`Several organisations have a project "${name}": ${all.join(", ")}.`);
}

const MOST_NAMED = 20;

export function unknownProject(projects: readonly Pick<ProjectOverview, "organization" | "project">[], name: string): string {
  const names = projects.map(({ organization, project }) => `${organization}/${project}`);
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more, which voicetill export shows` : "";
  return `There is no project ${JSON.stringify(name)}; there are ${names.slice(0, MOST_NAMED).join(", ") || "none"}${more}.`;
}
