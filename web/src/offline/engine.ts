// What the figures need of the platform and a bare engine lacks. Numbers are formatted by the
// figures themselves; that is all there is to Intl.
class PlainFormat {
  format(value: unknown): string {
    return String(value);
  }
}

const platform = globalThis as unknown as Record<string, unknown>;
platform["Intl"] ??= { NumberFormat: PlainFormat, DateTimeFormat: PlainFormat };
platform["window"] ??= undefined;

export {};
