/** The part of WebAssembly's JavaScript interface that is used here; TypeScript has it among the browser's types only. */
declare namespace WebAssembly {
  interface Module {
    readonly [Symbol.toStringTag]: "WebAssembly.Module";
  }
  const Module: new (code: Uint8Array) => Module;

  interface Memory {
    readonly buffer: ArrayBuffer;
  }

  interface Instance {
    readonly exports: Record<string, unknown>;
  }
  const Instance: new (module: Module, imports: Record<string, Record<string, (...args: number[]) => number>>) => Instance;
}
