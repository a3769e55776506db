/** What a check of the doctor's has found. */
export interface Finding {
  check: string;
  level: "ok" | "warn" | "fail";
  /** What is so. */
  text: string;
  /** What to do about it; null when nothing. */
  todo: string | null;
}

/** As the check itself says it. */
export type Result = Omit<Finding, "check">;

export const ok = (text: string): Result => ({ level: "ok", text, todo: null });
export const warn = (text: string, todo: string): Result => ({ level: "warn", text, todo });
export const fail = (text: string, todo: string): Result => ({ level: "fail", text, todo });
