import { errorCode, OperatorError } from "#src/kernel/errors.ts";

const INSUFFICIENT_PRIVILEGE = "42501";

/** What is thrown when making tables failed so: where the user may not, the words that say what to do. */
export function ownerFault(cause: unknown): unknown {
  if (errorCode(cause) !== INSUFFICIENT_PRIVILEGE) return cause;
  return new OperatorError("DATABASE_URL: its user may not make tables in this database; let it own the database.", { cause });
}

/** Why a PostgreSQL server did not take a connection, in words for who set DATABASE_URL; nothing of the address is repeated. */
export function connectionFault(error: unknown): string {
  const code = errorCode(error);
  const { message = "" } = error as { message?: string };
  const known = BY_CODE[code] ?? BY_MESSAGE.find(([pattern]) => pattern.test(message))?.[1];
  if (known !== undefined) return known;
  if (isSqlState(code)) return `the server refuses the connection (SQLSTATE ${code})`;
  if (isOfCertificate(code)) return `the server's certificate is not accepted (${code}): name its authority in NODE_EXTRA_CA_CERTS`;
  return `the PostgreSQL server cannot be reached with it${code === "" ? "" : ` (${code})`}`;
}

const UNREACHED = "the PostgreSQL server cannot be reached with it";

/** SQLSTATEs of the server, and the operating system's codes. */
const BY_CODE: Readonly<Record<string, string>> = {
  "28P01": "the server does not take this user and password",
  "28000": "the server does not let this user in: there is no such user, or pg_hba.conf has no line for it from here",
  "3D000": "the server has no database of this name",
  [INSUFFICIENT_PRIVILEGE]: "this user may not connect to the database: GRANT CONNECT is missing",
  "53300": "the server has no connection left: raise max_connections, or end processes",
  "55000": "this database takes no connections",
  "57P01": "the server is shutting down",
  "57P03": "the server is starting or shutting down, and takes no connections yet",
  ECONNREFUSED: `${UNREACHED}: nothing listens at its host and port`,
  ENOTFOUND: `${UNREACHED}: its host name is not known`,
  EAI_AGAIN: `${UNREACHED}: its host name is not known now`,
  ENOENT: "a file that it names cannot be read",
  EACCES: "a file that it names cannot be read",
  ERR_INVALID_URL:
    "it cannot be read as postgres://user:password@host/database; a sign such as # or / in the password is written %23 or %2F",
};

/** What `pg` says without a code. */
const BY_MESSAGE: readonly [RegExp, string][] = [
  [/does not support SSL/, "the server has no TLS, which sslmode demands"],
  [/password must be a (non-empty )?string/, "the server asks for a password, and there is none in it"],
  [/timeout/i, `${UNREACHED}: no answer in time`],
  [/terminated unexpectedly/, `${UNREACHED}: the connection was closed at once`],
];

const isSqlState = (code: string) => /^[0-9][0-9A-Z]{4}$/.test(code);

const isOfCertificate = (code: string) => /CERT|SIGNATURE|ISSUER/.test(code);
