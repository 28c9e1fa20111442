// The page in a browser, with results of the built program.
import { defineConfig } from "vitest/config";
import { cataloguePlugin } from "./src/catalogue/plugin";

export default defineConfig({
  plugins: [cataloguePlugin()], // for tests that draw a figure themselves
  test: {
    include: ["test/browser/*.test.ts"],
    globalSetup: "test/browser/prepare.ts",
    fileParallelism: false, // one browser at a time: times are measured
    testTimeout: 180_000,
    hookTimeout: 180_000,
    retry: 1, // on a crowded machine; tests/run.py says which tests failed once
  },
});
