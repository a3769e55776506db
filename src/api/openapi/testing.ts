import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";

/** Judges values by schemas that refer to these, as the description's own do: `{"$ref":"#/components/schemas/NAME"}`. */
export function ajvOf(schemas: Readonly<Record<string, object>>): Ajv2020 {
  const ajv = new Ajv2020({ strict: false });
  formats.default(ajv);
  for (const [name, schema] of Object.entries(schemas)) ajv.addSchema(schema, `#/components/schemas/${name}`);
  return ajv;
}
