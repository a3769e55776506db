import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { assert as check, constantFrom, property, uint8Array } from "fast-check";
import { createKeyring } from "./seal-keyring.ts";
import { decrypt, encrypt, keyIdOf, masterKey, open, type Place, rewrap, seal } from "./seal.ts";

const key = masterKey(randomBytes(32));
const other = masterKey(randomBytes(32));
const PLACE: Place = { table: "gateway_settings", column: "credentials", row: "row", organizationId: "org", environment: "test" };
const plaintext = Buffer.from(`{"secret_key":"sk_test_é"}`);

const ELSEWHERE: readonly Place[] = [
  { ...PLACE, table: "projects" },
  { ...PLACE, column: "secrets" },
  { ...PLACE, row: "row2" },
  { ...PLACE, organizationId: "org2" },
  { ...PLACE, environment: "live" },
];

test("what was sealed opens with the same key and place, and is different each time (S-31)", () => {
  const first = seal(key, PLACE, plaintext);
  const second = seal(key, PLACE, plaintext);
  assert.deepEqual(Buffer.from(open(key, PLACE, first)), plaintext);
  assert.notDeepEqual(first, second);
  assert.equal(Buffer.from(first).includes("sk_test"), false);
  assert.equal(open(key, PLACE, seal(key, PLACE, new Uint8Array())).length, 0);
});

test("whatever is sealed opens again in its place and nowhere else, before and after a new wrapping (S-31)", () => {
  check(
    property(uint8Array({ maxLength: 300 }), constantFrom(...ELSEWHERE), (data, elsewhere) => {
      const sealed = seal(key, PLACE, data);
      const moved = rewrap(key, other, PLACE, sealed);
      assert.deepEqual(Buffer.from(open(key, PLACE, sealed)), Buffer.from(data));
      assert.deepEqual(Buffer.from(open(other, PLACE, moved)), Buffer.from(data));
      assert.throws(() => open(key, elsewhere, sealed));
      assert.throws(() => open(other, elsewhere, moved));
      assert.throws(() => rewrap(key, other, elsewhere, sealed));
    }),
  );
});

test("a sealed value opens under no other key (S-31)", () => {
  const sealed = seal(key, PLACE, plaintext);
  assert.throws(() => open(other, PLACE, sealed));
  // Nor when its name for the key is changed to that of the other.
  const renamed = Buffer.from(sealed);
  renamed.write(other.id, 1, "hex");
  assert.throws(() => open(other, PLACE, renamed));
});

test("a sealed value with any byte changed, cut or added neither opens nor gets a new wrapping (S-31)", () => {
  const sealed = seal(key, PLACE, plaintext);
  const refused = (value: Uint8Array, what: string) => {
    assert.throws(() => open(key, PLACE, value), what);
    assert.throws(() => rewrap(key, other, PLACE, value), what);
  };
  for (let index = 0; index < sealed.length; index++) {
    const changed = Uint8Array.from(sealed);
    changed[index]! ^= 1;
    refused(changed, `byte ${index}`);
  }
  for (let length = 0; length < sealed.length; length++) refused(sealed.subarray(0, length), `length ${length}`);
  refused(Buffer.concat([sealed, Buffer.of(0)]), "a byte more");
});

test("the parts of two sealed values do not fit each other (S-31)", () => {
  const [one, two] = [seal(key, PLACE, plaintext), seal(key, PLACE, plaintext)];
  const wrapping = 1 + 8 + 60;
  assert.throws(() => open(key, PLACE, Buffer.concat([one.subarray(0, wrapping), two.subarray(wrapping)])));
});

test("a new wrapping leaves the sealed data as it is, byte for byte", () => {
  const sealed = seal(key, PLACE, plaintext);
  const moved = rewrap(key, other, PLACE, sealed);
  assert.deepEqual(Buffer.from(moved.subarray(69)), Buffer.from(sealed.subarray(69)));
  assert.notDeepEqual(Buffer.from(moved.subarray(9, 69)), Buffer.from(sealed.subarray(9, 69)));
  assert.deepEqual([keyIdOf(sealed), keyIdOf(moved)], [key.id, other.id]);
});

/** AES-256-GCM with 96-bit IVs: cases 13 to 16 of the specification that NIST SP 800-38D took up. */
const LONG_KEY = "feffe9928665731c6d6a8f9467308308".repeat(2);
const LONG_TEXT =
  "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255";
const LONG_SEALED =
  "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad";
const VECTORS = [
  { key: "00".repeat(32), iv: "00".repeat(12), text: "", aad: "", sealed: "", tag: "530f8afbc74536b9a963b4f1c4cb738b" },
  {
    key: "00".repeat(32),
    iv: "00".repeat(12),
    text: "00".repeat(16),
    aad: "",
    sealed: "cea7403d4d606b6e074ec5d3baf39d18",
    tag: "d0d1c8a799996bf0265b98b5d48ab919",
  },
  { key: LONG_KEY, iv: "cafebabefacedbaddecaf888", text: LONG_TEXT, aad: "", sealed: LONG_SEALED, tag: "b094dac5d93471bdec1a502270e3cc6c" },
  {
    key: LONG_KEY,
    iv: "cafebabefacedbaddecaf888",
    text: LONG_TEXT.slice(0, 120),
    aad: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
    sealed: LONG_SEALED.slice(0, 120),
    tag: "76fc6ece0f4e1768cddf8853bb2d551b",
  },
] as const;

for (const [index, vector] of VECTORS.entries()) {
  const hex = (text: string) => Buffer.from(text, "hex");
  const whole = hex(vector.iv + vector.sealed + vector.tag);
  test(`known answer ${index + 13} of AES-256-GCM is given, and opened (S-31)`, () => {
    assert.deepEqual(encrypt(hex(vector.key), hex(vector.aad), hex(vector.text), hex(vector.iv)), whole);
    assert.deepEqual(decrypt(hex(vector.key), hex(vector.aad), whole), hex(vector.text));
  });
  test(`known answer ${index + 13} with a shorter tag, a changed one or other associated data is refused (S-31)`, () => {
    for (let cut = 1; cut <= 16; cut++)
      assert.throws(() => decrypt(hex(vector.key), hex(vector.aad), whole.subarray(0, -cut)), `${cut} bytes less`);
    const changed = Buffer.from(whole);
    changed[changed.length - 1]! ^= 0x80;
    assert.throws(() => decrypt(hex(vector.key), hex(vector.aad), changed));
    assert.throws(() => decrypt(hex(vector.key), hex(`${vector.aad}00`), whole));
  });
}

test("an IV that is not 12 bytes and a key that is not 32 are refused (S-31)", () => {
  for (const length of [0, 1, 8, 11, 13, 16, 32])
    assert.throws(() => encrypt(key.bytes, "", plaintext, randomBytes(length)), `IV of ${length}`);
  for (const length of [0, 16, 24, 31, 33]) assert.throws(() => masterKey(randomBytes(length)), `key of ${length}`);
});

test("a ring of two keys seals with the first and opens with either; what is under the first is left alone", () => {
  const old = createKeyring([other.bytes]);
  const sealed = old.seal(PLACE, plaintext);
  const ring = createKeyring([key.bytes, other.bytes]);
  assert.deepEqual(ring.ids, [key.id, other.id]);
  assert.deepEqual(Buffer.from(ring.open(PLACE, sealed)), plaintext);
  const moved = ring.rewrap(PLACE, sealed)!;
  assert.equal(keyIdOf(moved), key.id);
  assert.equal(ring.rewrap(PLACE, moved), null);
  ring.use([key.bytes]);
  assert.throws(() => ring.open(PLACE, sealed), /not at hand/);
});
