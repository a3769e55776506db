import { keyIdOf, type MasterKey, masterKey, open, type Place, rewrap, seal } from "./seal.ts";

/**
 * The master keys of this process: seals under the current one, opens under any. There is more than one only while a key
 * is being replaced (docs/decisions/0010).
 */
export interface Keyring {
  readonly current: MasterKey;
  /** Ids of all keys, the current one's first. */
  readonly ids: readonly string[];
  seal(place: Place, plaintext: Uint8Array): Uint8Array;
  /** Throws when the place or any byte is another, or when no key of the ring made it. */
  open(place: Place, sealed: Uint8Array): Uint8Array;
  /** The same value under the current key; null when it is under it already. */
  rewrap(place: Place, sealed: Uint8Array): Uint8Array | null;
  /** From now on these keys, the first of them to seal with. */
  use(keys: readonly [Uint8Array, ...Uint8Array[]]): void;
  /** Where the keys can be replaced from within; null when they come from the settings, where the operator replaces them. */
  readonly store: KeyStore | null;
}

/** Keeps the keys of an embedded installation. Each call is durable when it returns and leaves the old state or the new. */
interface KeyStore {
  write(keys: readonly Uint8Array[]): void;
}

export function createKeyring(keys: readonly [Uint8Array, ...Uint8Array[]], store: KeyStore | null = null): Keyring {
  let [current, ...older] = keys.map(masterKey) as [MasterKey, ...MasterKey[]];
  const all = () => [current, ...older];

  /** The key that `sealed` is under. */
  const keyOf = (place: Place, sealed: Uint8Array): MasterKey => {
    const id = keyIdOf(sealed);
    const found = all().find((key) => key.id === id);
    if (!found) throw new Error(`a value of ${place.table} is sealed under a master key that is not at hand`);
    return found;
  };

  return {
    store,
    get current() {
      return current;
    },
    get ids() {
      return all().map(({ id }) => id);
    },
    seal: (place, plaintext) => seal(current, place, plaintext),
    open: (place, sealed) => open(keyOf(place, sealed), place, sealed),
    rewrap: (place, sealed) => (keyIdOf(sealed) === current.id ? null : rewrap(keyOf(place, sealed), current, place, sealed)),
    use(next) {
      [current, ...older] = next.map(masterKey) as [MasterKey, ...MasterKey[]];
    },
  };
}
