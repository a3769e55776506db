import { readFileSync } from "node:fs";
import { OperatorError } from "#src/kernel/errors.ts";
import { repeat } from "#src/platform/index.ts";
import type { TlsCertificate } from "#src/sip/index.ts";
import type { Modules } from "./modules.ts";

interface SipTls {
  port: number;
  certificate: TlsCertificate;
  /** Calls `renew` when the files have changed, until the returned function is called. What it throws is told in the log. */
  follow(renew: (certificate: TlsCertificate) => void): () => Promise<void>;
}

const LOOK_AGAIN_MS = 60_000;

/** The certificate that the settings name; null when SIP is not spoken over TLS. Throws OperatorError for a file that cannot be read. */
export function openSipTls({ config, clock, log }: Pick<Modules, "config" | "clock" | "log">): SipTls | null {
  const { sipTlsPort, sipTlsCert, sipTlsKey, sipTlsClientCa } = config;
  if (sipTlsPort === null || sipTlsCert === null || sipTlsKey === null) return null;
  const read = (): TlsCertificate => ({
    cert: textOf("SIP_TLS_CERT", sipTlsCert),
    key: textOf("SIP_TLS_KEY", sipTlsKey),
    clientCa: sipTlsClientCa === null ? null : textOf("SIP_TLS_CLIENT_CA", sipTlsClientCa),
  });
  const certificate = read();
  return {
    port: sipTlsPort,
    certificate,
    follow(renew) {
      let known = JSON.stringify(certificate);
      const look = async () => {
        const next = read();
        const text = JSON.stringify(next);
        if (text === known) return;
        // Certificate and key may be written one after the other: a pair that does not fit is looked at again.
        renew(next);
        known = text;
        log.info("sip_certificate_renewed");
      };
      const onFailure = (error: unknown) => log.error("sip_certificate_not_renewed", { error });
      return repeat({ clock, everyMs: LOOK_AGAIN_MS, firstMs: LOOK_AGAIN_MS, task: look, onFailure });
    },
  };
}

function textOf(setting: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new OperatorError(`${setting}: the file ${JSON.stringify(path)} cannot be read.`, { cause });
  }
}
