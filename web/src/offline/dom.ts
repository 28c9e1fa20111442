// The part of the DOM that drawing an SVG needs, for engines without one.

class Style {
  readonly set = new Map<string, string>();
  setProperty(name: string, value: string): void {
    this.set.set(name, value);
  }
  removeProperty(name: string): void {
    this.set.delete(name);
  }
  toString(): string {
    return [...this.set].map(([name, value]) => `${name}: ${value}`).join("; ");
  }
}

const escaped = (text: string) =>
  text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]!);

class Text {
  parentNode: Element | null = null;
  readonly nodeType = 3;
  constructor(
    readonly ownerDocument: SmallDocument,
    public data: string,
  ) {}
  get textContent(): string {
    return this.data;
  }
  set textContent(text: string) {
    this.data = text;
  }
  serialize(): string {
    return escaped(this.data);
  }
}

type Node = Element | Text;

class Element {
  parentNode: Element | null = null;
  readonly nodeType = 1;
  readonly childNodes: Node[] = [];
  readonly attributes = new Map<string, string>();
  readonly style = new Style();
  constructor(
    readonly ownerDocument: SmallDocument,
    readonly namespaceURI: string,
    readonly tagName: string,
  ) {}

  setAttribute(name: string, value: unknown): void {
    this.attributes.set(name, String(value));
  }
  setAttributeNS(_: string, name: string, value: unknown): void {
    // Sets namespaced attributes by their local name; only xlink is used.
    this.attributes.set(name === "href" ? "xlink:href" : name, String(value));
  }
  getAttribute(name: string): string | null {
    return this.attributes.get(name) ?? null;
  }
  hasAttribute(name: string): boolean {
    return this.attributes.has(name);
  }
  removeAttribute(name: string): void {
    this.attributes.delete(name);
  }
  get firstChild(): Node | null {
    return this.childNodes[0] ?? null;
  }
  get children(): Element[] {
    return this.childNodes.filter((node): node is Element => node instanceof Element);
  }
  get textContent(): string {
    return this.childNodes.map((node) => node.textContent).join("");
  }
  set textContent(text: string) {
    this.childNodes.length = 0;
    if (text !== "") this.appendChild(this.ownerDocument.createTextNode(text));
  }
  appendChild<T extends Node>(node: T): T {
    return this.insertBefore(node, null);
  }
  append(...nodes: (Node | string)[]): void {
    for (const node of nodes) {
      this.appendChild(typeof node === "string" ? this.ownerDocument.createTextNode(node) : node);
    }
  }
  insertBefore<T extends Node>(node: T, before: Node | null): T {
    node.parentNode?.removeChild(node);
    const at = before === null ? this.childNodes.length : this.childNodes.indexOf(before);
    this.childNodes.splice(at, 0, node);
    node.parentNode = this;
    return node;
  }
  removeChild<T extends Node>(node: T): T {
    this.childNodes.splice(this.childNodes.indexOf(node), 1);
    node.parentNode = null;
    return node;
  }
  querySelector(): null {
    return null;
  }
  querySelectorAll(): [] {
    return [];
  }
  addEventListener(): void {
    // Drawings in files have no events.
  }
  serialize(): string {
    const attributes = [...this.attributes];
    const style = this.style.toString();
    if (style !== "") attributes.push(["style", style]);
    const text = attributes.map(([name, value]) => ` ${name}="${escaped(value)}"`).join("");
    const inner = this.childNodes.map((node) => node.serialize()).join("");
    return inner === ""
      ? `<${this.tagName}${text}/>`
      : `<${this.tagName}${text}>${inner}</${this.tagName}>`;
  }
}

export class SmallDocument {
  readonly documentElement: Element = new Element(this, "http://www.w3.org/1999/xhtml", "html");
  createElementNS(namespace: string, name: string): Element {
    return new Element(this, namespace, name);
  }
  createElement(name: string): Element {
    return this.createElementNS(this.documentElement.namespaceURI, name);
  }
  createTextNode(text: string): Text {
    return new Text(this, text);
  }
}

// Returns the text of an SVG file.
export function svgText(drawing: SVGSVGElement): string {
  const element = drawing as unknown as Element;
  element.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  element.setAttribute("xmlns:xlink", "http://www.w3.org/1999/xlink");
  return `${element.serialize()}\n`;
}
