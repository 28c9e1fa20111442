// The tests of tests/web: the page in a browser, with results of the built program.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  // The tests stand outside this folder, and what they import inside.
  resolve: {
    alias: {
      "playwright-core": here("node_modules/playwright-core/index.mjs"),
      "axe-core": here("node_modules/axe-core/axe.js"),
    },
  },
  test: {
    dir: here("../tests/web"),
    include: ["**/*.test.ts"],
    globalSetup: here("../tests/web/prepare.ts"),
    fileParallelism: false, // one browser at a time: times are measured
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
