// Saves figures as SVG or PNG, and their numbers as CSV.

import { nameOf } from "./words";

export type CellValue = string | number | null;

export function csvText(
  columns: readonly string[],
  rows: readonly (readonly CellValue[])[],
): string {
  return [columns, ...rows].map((row) => `${row.map(csvField).join(",")}\r\n`).join("");
}

function csvField(value: CellValue): string {
  if (value === null || (typeof value === "number" && !Number.isFinite(value))) return "";
  const text = typeof value === "string" ? defused(value) : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// Puts an apostrophe before text that a spreadsheet would run as a formula, as heads.csv does.
function defused(text: string): string {
  const number = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text);
  return /^[=+\-@\t\r]/.test(text) && !number ? `'${text}` : text;
}

// "critical-n" and "org/model name" give "critical-n-org-model-name.svg".
export function fileName(id: string, model: string, ending: string): string {
  const plain = (text: string) =>
    text
      .normalize("NFKD")
      .replace(/[^A-Za-z0-9._-]+/g, "-")
      .replace(/^[-.]+|[-.]+$/g, "");
  return (
    [plain(id), plain(nameOf(model)).slice(-60)].filter((part) => part !== "").join("-") + `.${ending}`
  );
}

export function svgText(drawing: SVGSVGElement): string {
  drawing.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return `${new XMLSerializer().serializeToString(drawing)}\n`;
}

// Draws a drawing that is not in the page, so its size is that of its attributes.
export async function pngBlob(drawing: SVGSVGElement, scale = 2): Promise<Blob> {
  const box = drawing.viewBox.baseVal;
  const width = Number(drawing.getAttribute("width")) || box.width;
  const height = Number(drawing.getAttribute("height")) || box.height;
  const url = URL.createObjectURL(new Blob([svgText(drawing)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const context = canvas.getContext("2d");
    if (!context) throw new Error("this browser draws no canvas; save the SVG instead");
    context.fillStyle = "white";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
    if (!blob) throw new Error("the picture is too large for a PNG; save the SVG instead");
    return blob;
  } finally {
    URL.revokeObjectURL(url);
  }
}

export function download(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  // The browser reads the file after the click handler has returned.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
