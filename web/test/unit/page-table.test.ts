import { expect, test } from "vitest";
import { csvText, fileName } from "../../src/page/save";
import { formatOrder, nextOrder, parseOrder, sorted, type Column } from "../../src/page/table";

interface Row {
  name: string;
  size: number;
}

const rows: Row[] = [
  { name: "b", size: 2 },
  { name: "a", size: NaN },
  { name: "", size: 10 },
  { name: "c", size: 2 },
];
const columns: Column<Row>[] = [
  { id: "name", title: "Name", key: (row) => row.name, show: (row) => row.name },
  { id: "size", title: "Size", numeric: true, key: (row) => row.size, show: (row) => String(row.size) },
];
const names = (order: string) => sorted(rows, columns, parseOrder(order)).map((row) => row.name);

test("numbers are sorted as numbers, equal ones keep their order, undefined ones come last", () => {
  expect(names("size")).toEqual(["b", "c", "", "a"]);
  expect(names("-size")).toEqual(["", "b", "c", "a"]);
  expect(names("name")).toEqual(["a", "b", "c", ""]);
  expect(names("-name")).toEqual(["c", "b", "a", ""]);
});

test("an order of no column leaves the rows as they are", () => {
  expect(names("colour")).toEqual(rows.map((row) => row.name));
  expect(names("")).toEqual(rows.map((row) => row.name));
});

test("a click turns the order round; another column begins with the largest or the first", () => {
  const first = nextOrder(undefined, columns[1]!);
  expect(formatOrder(first)).toBe("-size");
  expect(formatOrder(nextOrder(first, columns[1]!))).toBe("size");
  expect(formatOrder(nextOrder(first, columns[0]!))).toBe("name");
});

test("CSV: quotes, commas and line ends inside a field, and what is undefined", () => {
  const written = csvText(["a", 'say "b"'], [["x,y", 1.5], ["line\nend", null], [NaN as number, -0.25]]);
  expect(written).toBe('a,"say ""b"""\r\n"x,y",1.5\r\n"line\nend",\r\n,-0.25\r\n');
});

test("CSV: what a spreadsheet would run is defused, numbers are not", () => {
  const fields = ["=1+1", "+cmd", "-2+3", "@SUM(1)", "\tx", "-1.5e3", "+7", "a=b"];
  expect(csvText(fields, [[-1]])).toBe("'=1+1,'+cmd,'-2+3,'@SUM(1),'\tx,-1.5e3,+7,a=b\r\n-1\r\n");
});

test("names of files have no characters that any system refuses", () => {
  expect(fileName("critical-n", "org/model name", "svg")).toBe("critical-n-org-model-name.svg");
  expect(fileName("map", "../<b>ä</b>", "csv")).toBe("map-b-a-b.csv");
  expect(fileName("map", "/", "csv")).toBe("map.csv");
});
