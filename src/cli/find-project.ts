import { OperatorError } from "#src/kernel/errors.ts";
import type { ProjectOverview } from "#src/projects/index.ts";

/** The project of that slug, or of ORGANIZATION/SLUG where several organisations have one; throws OperatorError. */
export function findProject<P extends Pick<ProjectOverview, "organization" | "project">>(projects: readonly P[], name: string): P {
  const [found, ...more] = projects.filter(({ organization, project }) => [project, `${organization}/${project}`].includes(name));
  if (found === undefined) throw new OperatorError(`There is no project "${name}".`);
  if (more.length === 0) return found;
  const all = [found, ...more].map(({ organization, project }) => `${organization}/${project}`);
  throw new OperatorError(`Several organisations have a project "${name}": ${all.join(", ")}.`);
}
