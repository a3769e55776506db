/** Where other people's addresses may lead: the ports below belong to a host's own services. */
const HTTPS_PORT = 443;
const LAST_SYSTEM_PORT = 1023;

/** What is wrong with the port of an http or https address that somebody else chose, as the end of a sentence about it; null: nothing. */
export function outgoingPortFault({ protocol, port: written }: URL): string | null {
  const port = Number(written || (protocol === "https:" ? HTTPS_PORT : 80));
  if (port === HTTPS_PORT || port > LAST_SYSTEM_PORT) return null;
  return `must be at port ${HTTPS_PORT} or above ${LAST_SYSTEM_PORT}, not at ${port}`;
}
