// Defines what the figures need and a bare engine lacks. The figures format numbers themselves, so
// this is all of Intl.
class PlainFormat {
  format(value: unknown): string {
    return String(value);
  }
}

const platform = globalThis as unknown as Record<string, unknown>;
platform["Intl"] ??= { NumberFormat: PlainFormat, DateTimeFormat: PlainFormat };
platform["window"] ??= undefined;

export {};
