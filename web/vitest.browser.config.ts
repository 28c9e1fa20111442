// The page in a browser, with results of the built program.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/browser/*.test.ts"],
    globalSetup: "test/browser/prepare.ts",
    fileParallelism: false, // one browser at a time: times are measured
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
