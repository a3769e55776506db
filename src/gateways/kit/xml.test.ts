import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { childText, childrenOf, readXml } from "./xml.ts";

const read = (text: string) => readXml(Buffer.from(text));

test("elements, attributes, references, comments and CDATA are read", () => {
  const root = read(
    `<?xml version="1.0" encoding="UTF-8"?>\n<!-- a --><a x="1 &amp; 2" y='"'>\n <b>&lt;&#65;&#x42;&gt;</b><b/><c><![CDATA[<raw>&]]> t</c><!-- b --></a>\n`,
  );
  assert.ok(root);
  assert.deepEqual([root.name, root.attributes, root.text], ["a", { x: "1 & 2", y: '"' }, ""]);
  assert.equal(childrenOf(root, "b")[0]?.text, "<AB>");
  assert.equal(childText(root, "c"), "<raw>& t");
  assert.equal(childText(root, "b"), undefined);
  assert.equal(childText(root, "d"), undefined);
});

test("a document that declares ISO-8859-1, as Opayo's reports do, is read as such", () => {
  const declared = '<?xml version="1.0" encoding="ISO-8859-1" ?><a>  <b>Caf\u00e9</b></a>';
  assert.equal(childText(readXml(Buffer.from(declared, "latin1"))!, "b"), "Caf\u00e9");
});

test("what is not well-formed, or could pull in more than itself, is refused (R-422)", () => {
  const bad = [
    "",
    "text",
    "<a>",
    "<a></b>",
    "<a></a><a/>",
    "<a></a>x",
    "<a>&nbsp;</a>",
    "<a>& </a>",
    "<a>]]></a>",
    "<a><!-- -- --></a>",
    '<a x="1" x="2"/>',
    "<a x=1/>",
    '<a x="<"/>',
    '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>&e;</a>',
    "<a><?php ?></a>",
    '<?xml version="1.0" encoding="UTF-16"?><a/>',
    '<?xml version="1.0" encoding="windows-1251"?><a/>',
    "<a>&#x110000;</a>",
    `${"<a>".repeat(40)}${"</a>".repeat(40)}`,
  ];
  for (const text of bad) assert.equal(read(text), null, text);
  assert.equal(readXml(Buffer.from([0x3c, 0x61, 0x3e, 0xff, 0x3c, 0x2f, 0x61, 0x3e])), null);
});

test("no bytes make it throw, and a document cut anywhere is refused", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      readXml(bytes);
    }),
  );
  const whole = '<?xml version="1.0"?><a x="1"><b>t</b><!-- c --></a>';
  for (let end = 0; end < whole.length; end++) assert.equal(read(whole.slice(0, end)), null);
});
