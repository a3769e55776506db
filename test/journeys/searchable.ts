import { Client } from "pg";
import { filesBelow, type SearchedText } from "../../prove/kill/scan.ts";
import type { Service } from "./service.ts";

/** All that a service has written: its folder, the rows of a server's database, and its output. */
export async function searchable(service: Service): Promise<SearchedText[]> {
  const url = service.env["DATABASE_URL"];
  return [...filesBelow(service.folder), ...(url ? await rowsOf(url) : []), ["output", Buffer.from(service.output())]];
}

/** Every row of every table as text: a server's data folder may belong to another user. */
async function rowsOf(connectionString: string): Promise<SearchedText[]> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')",
    );
    const rows: SearchedText[] = [];
    for (const { name } of tables.rows) {
      const { rows: texts } = await client.query<{ text: string }>(`select t::text as text from ${name} t`);
      rows.push([name, Buffer.from(texts.map(({ text }) => text).join("\n"))]);
    }
    return rows;
  } finally {
    await client.end();
  }
}
