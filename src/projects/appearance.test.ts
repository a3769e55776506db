import assert from "node:assert/strict";
import { test } from "node:test";
import { contrast, contrastFault, frameVariables } from "./appearance.ts";
import { widgetBlock } from "./settings.ts";

test("the contrast of two colours is that of WCAG 2.2", () => {
  assert.equal(contrast("#000000", "#fff").toFixed(2), "21.00");
  assert.equal(contrast("#777777", "#ffffff").toFixed(2), "4.48");
  assert.equal(contrast("#123c8c", "#123c8c"), 1);
});

test("a variable is one of a list, of its form, and no way to load or run anything", () => {
  const isTaken = (variables: Record<string, string>) => widgetBlock.safeParse({ appearance: { variables } }).success;
  assert.ok(
    isTaken({ colorPrimary: "#0a7d5a", fontFamily: 'Inter, "Segoe UI", sans-serif', borderRadius: "12px", spacingUnit: "0.25rem" }),
  );
  const wrong: Record<string, string>[] = [
    { colorNothing: "#fff" },
    { colorPrimary: "red" },
    { colorPrimary: "url(https://a.example)" },
    { fontFamily: "a;}body{background:url(//a)" },
    { fontFamily: "x, url(//a.example)" },
    { borderRadius: "calc(1px + 2px)" },
    { spacingUnit: "9999px" },
  ];
  for (const variables of wrong) assert.ok(!isTaken(variables), JSON.stringify(variables));
});

test("words that nobody can read are refused, in the theme in which they would be shown", () => {
  assert.match(contrastFault({ colorText: "#999999" }, "light") ?? "", /colorText #999999 on #ffffff has a contrast of 2\.8 to 1/);
  assert.equal(contrastFault({ colorText: "#999999" }, "dark"), null);
  assert.match(
    contrastFault({ colorBorder: "#e6e6e6" }, "light") ?? "",
    /colorBorder #e6e6e6 on #ffffff has a contrast of 1\.2 to 1; 3 are/,
  );
  assert.equal(contrastFault({ colorBackground: "#202020" }, "light"), null, "a dark background has the dark theme's words");
  assert.match(contrastFault({ colorBackground: "#777777" }, "auto") ?? "", /colorText/);
  assert.equal(contrastFault({ colorBackground: "#202020", colorText: "#eeeeee", colorDanger: "#ffb4ab" }, "auto"), null);
});

test("words on the primary colour are white or black, whichever can be read", () => {
  assert.equal(frameVariables({ colorPrimary: "#0a7d5a" })["colorOnPrimary"], "#ffffff");
  assert.equal(frameVariables({ colorPrimary: "#ffd400" })["colorOnPrimary"], "#000000");
  assert.deepEqual(frameVariables({ colorText: "#707070", colorBackground: "#ffffff" })["colorMuted"], "var(--color-text)");
  assert.deepEqual(frameVariables({ colorPrimary: "url(//a)", borderRadius: "4px" }), { borderRadius: "4px" });
});
