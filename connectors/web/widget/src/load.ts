// Loads the other files of the bundle when they are first needed.

// shared are the modules of the chat that the other files use: tools/widget leaves these out of them.
export const shared: Record<string, object> = {};

const loaded = new Map<string, Promise<unknown>>();

// load returns a file's exports. While the gateway can't be reached it tries again.
export function load<T>(file: string): Promise<T> {
  const promise = loaded.get(file) ?? fetched(file);
  loaded.set(file, promise);
  return promise as Promise<T>;
}

const fetched = (file: string): Promise<unknown> => patiently(async (tries) => { // browsers remember an address that failed
  const { default: make } = await import(new URL(tries ? `${file}?${tries}` : file, import.meta.url).href) as { default: (require: (name: string) => object | undefined) => unknown };
  return make((name) => shared[name]);
});

// patiently tries until it succeeds.
export async function patiently<T>(get: (tries: number) => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await get(tries);
    } catch {
      await new Promise((resolve) => { setTimeout(resolve, Math.min(30_000, 2000 * 2 ** tries)); });
    }
  }
}
