/** A line of a Markdown table. */
export const row = (...cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;

export const fenced = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\``;

/** A hand-written page with its generated parts anew: what stands between `<!-- begin NAME -->` and `<!-- end NAME -->`. */
export function withSections(page: string, sections: Readonly<Record<string, string>>): string {
  return Object.entries(sections).reduce((text, [name, content]) => {
    const [begin, end] = [`<!-- begin ${name} -->\n`, `<!-- end ${name} -->`];
    const [from, to] = [text.indexOf(begin), text.indexOf(end)];
    if (from < 0 || to < from) throw new Error(`the page has no section ${name}`);
    return `${text.slice(0, from + begin.length)}\n${content}\n\n${text.slice(to)}`;
  }, page);
}
