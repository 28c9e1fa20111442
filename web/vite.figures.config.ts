// The figures alone, for the JavaScript engine inside headgauge: no DOM, no Intl.
import { defineConfig } from "vite";
import { cataloguePlugin } from "./src/catalogue/plugin";

export default defineConfig({
  plugins: [cataloguePlugin()],
  build: {
    outDir: "dist",
    emptyOutDir: false,
    target: "es2020",
    lib: {
      entry: "src/offline/figures.ts",
      name: "headgauge_figures",
      formats: ["iife"],
      fileName: () => "figures.js",
    },
  },
});
