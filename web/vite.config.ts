// The page: one HTML file with everything in it.
import { viteSingleFile } from "vite-plugin-singlefile";
import { defineConfig } from "vitest/config";
import { cataloguePlugin } from "./src/catalogue/plugin";

export default defineConfig({
  plugins: [cataloguePlugin(), viteSingleFile()],
  build: { outDir: "dist", emptyOutDir: true, target: "es2020", modulePreload: false },
  test: { include: ["test/unit/*.test.ts"], testTimeout: 60_000 },
});
