// The tests of tests/web: the page in a browser, with results of the built program.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: here(".."),
  cacheDir: here("node_modules/.vite"),
  server: { fs: { strict: false } },
  // The tests stand outside this folder, and what they import inside.
  resolve: {
    alias: {
      "playwright-core": here("node_modules/playwright-core/index.mjs"),
      vitest: here("node_modules/vitest/dist/index.js"),
    },
  },
  test: {
    include: ["tests/web/*.test.ts"],
    globalSetup: "tests/web/prepare.ts",
    fileParallelism: false, // one browser at a time: times are measured
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
