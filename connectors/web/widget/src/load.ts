// Loads a file of the bundle when it is first needed.
export const load = <T>(file: string): Promise<T> => import(new URL(file, import.meta.url).href);
