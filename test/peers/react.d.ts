/** As much of React's types as examples/react-page.tsx needs; merchants have @types/react. */

declare module "react" {
  export type ReactNode = JSX.Element | string | null;
  export type Key = string | number;
  export type Ref<T> = { current: T | null };
  export function useState<S>(initial: S): [S, (next: S) => void];
  export namespace JSX {
    interface Element {
      readonly type: unknown;
    }
    interface ElementChildrenAttribute {
      children: unknown;
    }
    interface IntrinsicElements {
      h1: { children?: ReactNode };
      p: { role?: string; children?: ReactNode };
    }
  }
}
declare module "react/jsx-runtime" {
  export { JSX } from "react";
}
declare module "react-dom/client" {
  export function createRoot(container: Element): { render(children: unknown): void };
}
